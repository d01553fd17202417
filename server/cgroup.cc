#include "server/cgroup.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune {
namespace {

// Version 1 writes "no limit" as about 2^63, rounded down to a page.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// The control group of this process within one hierarchy, e.g. "/system.slice/attune.service". Its
// line is "0::/path" for version 2; "4:cpu,cpuacct:/path" for version 1's "cpu".
std::optional<std::string> CgroupPath(absl::string_view proc_self_cgroup,
                                      absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(proc_self_cgroup, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      return std::string(fields[2]);
    }
  }
  return std::nullopt;
}

// The least limit that `file` of any of the folders states.
std::optional<int64_t> LeastLimit(const std::vector<std::string>& folders, absl::string_view file) {
  std::optional<int64_t> least;
  for (const std::string& folder : folders) {
    const std::string text = ReadSystemFile(absl::StrCat(folder, "/", file));
    int64_t bytes = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &bytes)) continue;  // "max"
    if (bytes <= 0 || bytes >= kNoLimit) continue;
    least = std::min(bytes, least.value_or(bytes));
  }
  return least;
}

}  // namespace

std::string ReadSystemFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> CgroupFolders(const std::string& root, absl::string_view controller) {
  std::optional<std::string> path =
      CgroupPath(ReadSystemFile(root + "/proc/self/cgroup"), controller);
  if (!path.has_value()) return {};
  const std::string mount =
      absl::StrCat(root, "/sys/fs/cgroup", controller.empty() ? "" : "/", controller);
  if (*path == "/") path->clear();
  std::vector<std::string> folders = {mount + *path};
  while (!path->empty()) {
    path->resize(path->rfind('/') == std::string::npos ? 0 : path->rfind('/'));
    folders.push_back(mount + *path);
  }
  return folders;
}

std::optional<int64_t> ReadCgroupMemoryLimit(const std::string& root) {
  const std::optional<int64_t> limit = LeastLimit(CgroupFolders(root, ""), "memory.max");
  if (limit.has_value()) return limit;
  return LeastLimit(CgroupFolders(root, "memory"), "memory.limit_in_bytes");
}

}  // namespace attune
