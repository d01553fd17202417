#include "engine/base/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

bool IsInside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// For `folder` = .../models--X/snapshots/REVISION or a folder below: .../models--X/blobs.
// Empty for any other folder.
fs::path HubCacheBlobs(const fs::path& folder) {
  for (fs::path revision = folder; revision.has_relative_path();
       revision = revision.parent_path()) {
    const fs::path snapshots = revision.parent_path();
    const fs::path model = snapshots.parent_path();
    if (snapshots.filename() == "snapshots" &&
        absl::StartsWith(model.filename().native(), "models--")) {
      return model / "blobs";
    }
  }
  return {};
}

absl::Status CheckLinks(const std::string& folder, const std::string& path) {
  std::error_code error;
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return absl::OkStatus();  // opening the file will tell
  const fs::path real_path = fs::canonical(path, error);
  if (error || IsInside(real_path, real_folder)) return absl::OkStatus();
  const fs::path blobs = HubCacheBlobs(real_folder);
  if (!blobs.empty() && IsInside(real_path, blobs)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " is a symbolic link to ",
                                                 real_path.native(), ", outside the model folder"));
}

absl::Status NotRegular(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
}

}  // namespace

absl::StatusOr<std::string> JoinModelPath(absl::string_view folder, absl::string_view relative) {
  if (absl::StartsWith(relative, "/") || absl::StrContains(relative, '\0')) {
    return absl::InvalidArgumentError(absl::StrCat("path ", QuoteJson(ShortenForMessage(relative)),
                                                   " is not relative to the model folder"));
  }
  for (absl::string_view part : absl::StrSplit(relative, '/')) {
    if (part == "..") {
      return absl::InvalidArgumentError(absl::StrCat(
          "path ", QuoteJson(ShortenForMessage(relative)), " leaves the model folder"));
    }
  }
  if (relative.empty()) return std::string(folder);
  std::string path = absl::StrCat(folder, "/", relative);
  ATTUNE_RETURN_IF_ERROR(CheckLinks(std::string(folder), path));
  return path;
}

bool PathExists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

absl::StatusOr<FileReader> FileReader::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  // What open() says of a socket or of a device without a driver.
  if (fd < 0 && errno == ENXIO) return NotRegular(path);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot stat ", path));
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return NotRegular(path);
  }
  return FileReader(
      path, fd,
      {.device = info.st_dev,
       .inode = info.st_ino,
       .size_bytes = info.st_size,
       .changed_ns = info.st_ctim.tv_sec * kNanosecondsPerSecond + info.st_ctim.tv_nsec});
}

FileReader::FileReader(FileReader&& other) noexcept { *this = std::move(other); }

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  // By way of a temporary, so that what this held is closed now rather than when `other` dies.
  FileReader old(std::exchange(path_, {}), std::exchange(fd_, -1), std::exchange(stamp_, {}));
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

FileReader::~FileReader() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FileReader::ReadAt(int64_t offset, int64_t bytes, char* dst) const {
  while (bytes > 0) {
    const ssize_t got = pread(fd_, dst, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path_, " ends at byte ", offset, ", ", bytes,
                                              " bytes short: it was truncated"));
    }
    offset += got;
    bytes -= got;
    dst += got;
  }
  return absl::OkStatus();
}

bool LooksLikeGitLfsPointer(absl::string_view head) {
  return absl::StartsWith(head, "version https://git-lfs") ||
         absl::StartsWith(head, "version https://hawser");
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  ATTUNE_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  if (file.size_bytes() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file.size_bytes(), " bytes; the limit is ", max_bytes));
  }
  std::string content(static_cast<size_t>(file.size_bytes()), '\0');
  ATTUNE_RETURN_IF_ERROR(file.ReadAt(0, file.size_bytes(), content.data()));
  if (LooksLikeGitLfsPointer(content)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a Git LFS pointer, not the file itself: run \"git lfs pull\""));
  }
  return content;
}

}  // namespace attune
