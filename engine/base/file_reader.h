// Reading files of a model folder, which are hostile input: only regular files, bounded sizes, no
// mapping that outlives the call, no path that leaves the folder.
#ifndef ATTUNE_ENGINE_BASE_FILE_READER_H_
#define ATTUNE_ENGINE_BASE_FILE_READER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

// Joins `folder` and `relative`. kInvalidArgument if `relative` is absolute, has a ".." part or a
// NUL, or if the file is a symbolic link to a place outside `folder`: model folders name further
// files in their own JSON, which must not point elsewhere. One kind of link may leave the folder,
// because every file of a Hugging Face hub cache is one: from models--X/snapshots/REVISION into
// models--X/blobs. `folder` itself may be a link; a file that is not there is no error.
// A check of what is on disk, not a defence against somebody who changes it meanwhile.
absl::StatusOr<std::string> JoinModelPath(absl::string_view folder, absl::string_view relative);

// Whether `path` exists (of any kind, a dangling symbolic link included: a broken file must lead to
// an error, not count as an optional file that is absent).
bool PathExists(const std::string& path);

// What tells one content of a file from another without reading it, short of somebody who sets the
// clock. The time has the resolution of the kernel's tick, some milliseconds.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size_bytes = 0;
  int64_t changed_ns = 0;  // ctime, nanoseconds since 1970
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// An open regular file. Move-only; closes itself. Thread-compatible.
class FileReader {
 public:
  // kNotFound if there is no such file; kInvalidArgument for a directory, FIFO, socket or device;
  // kPermissionDenied / kInternal for what the system says. Errors name `path`.
  static absl::StatusOr<FileReader> Open(const std::string& path);

  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  // Size in bytes when the file was opened.
  int64_t size_bytes() const { return stamp_.size_bytes; }
  const FileStamp& stamp() const { return stamp_; }  // likewise
  const std::string& path() const { return path_; }

  // Reads exactly `bytes` bytes at `offset` into `dst`. kDataLoss if the file ends before that (it
  // may have been truncated since it was opened).
  absl::Status ReadAt(int64_t offset, int64_t bytes, char* dst) const;

 private:
  FileReader(std::string path, int fd, const FileStamp& stamp)
      : path_(std::move(path)), fd_(fd), stamp_(stamp) {}

  std::string path_;
  int fd_ = -1;
  FileStamp stamp_;
};

// The whole file. kInvalidArgument if it is larger than `max_bytes`, or if it is a Git LFS pointer
// in place of the file ("git lfs pull" was not run).
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Whether `head`, the first bytes of a file, are those of a Git LFS pointer.
bool LooksLikeGitLfsPointer(absl::string_view head);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_FILE_READER_H_
