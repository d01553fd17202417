// Where a command's results go: standard output, or a file that appears only when it is complete.
#ifndef ATTUNE_CLIENT_CLI_OUTPUT_FILE_H_
#define ATTUNE_CLIENT_CLI_OUTPUT_FILE_H_

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune::cli {

// Move-only; thread-compatible.
class OutputFile {
 public:
  // "" or "-" is standard output. A regular file is written as `path`.partial until Commit renames
  // it. Errors carry the path and the system's reason.
  static absl::StatusOr<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without a Commit, removes the partial file.
  ~OutputFile();

  absl::Status Write(absl::string_view bytes);
  // Flushes everything and puts the file in its place.
  absl::Status Commit();

  std::FILE* file() { return file_; }
  bool is_stdout() const { return file_ == stdout; }

 private:
  OutputFile(std::FILE* file, std::string path, std::string partial_path)
      : file_(file), path_(std::move(path)), partial_path_(std::move(partial_path)) {}
  absl::Status Error(absl::string_view action) const;

  std::FILE* file_;
  std::string path_;
  std::string partial_path_;  // empty: written in place
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_OUTPUT_FILE_H_
