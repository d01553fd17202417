#include "client/cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace attune::cli {
namespace {

// A device or a pipe cannot be replaced by a rename.
bool IsSpecialFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  if (path.empty() || path == "-") return OutputFile(stdout, "standard output", "");
  std::string partial = IsSpecialFile(path) ? "" : absl::StrCat(path, ".partial");
  const std::string& opened = partial.empty() ? path : partial;
  std::FILE* file = std::fopen(opened.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", opened));
  return OutputFile(file, path, std::move(partial));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      partial_path_(std::exchange(other.partial_path_, "")) {}

OutputFile::~OutputFile() {
  if (file_ != nullptr && !is_stdout()) std::fclose(file_);
  if (!partial_path_.empty()) unlink(partial_path_.c_str());
}

absl::Status OutputFile::Error(absl::string_view action) const {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " ", path_));
}

absl::Status OutputFile::Write(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return Error("write");
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (std::fflush(file_) != 0) return Error("write");
  if (is_stdout()) return absl::OkStatus();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return Error("write");
  if (partial_path_.empty()) return absl::OkStatus();
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0) return Error("create");
  partial_path_.clear();
  return absl::OkStatus();
}

}  // namespace attune::cli
