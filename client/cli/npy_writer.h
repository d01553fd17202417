// Float arrays in NumPy's .npy format, version 1.0; matrices row by row.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#ifndef ATTUNE_CLIENT_CLI_NPY_WRITER_H_
#define ATTUNE_CLIENT_CLI_NPY_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace attune::cli {

// The header of a float32 array of this shape in C order: always kNpyHeaderBytes long, so that it
// can be overwritten when the number of rows is known. Room for two axes of any size, or four below
// 2^32.
inline constexpr size_t kNpyHeaderBytes = 128;
std::string NpyHeader(absl::Span<const uint64_t> shape);

// Holds no rows in memory: where `out` cannot be rewound (a pipe), they wait in a temporary file.
// Thread-compatible.
class NpyWriter {
 public:
  // `out` is borrowed and must outlive the writer.
  static absl::StatusOr<NpyWriter> Create(std::FILE* out);

  // All rows must have the same length; kInvalidArgument otherwise. kUnknown with the system's
  // reason if writing fails.
  absl::Status AddRow(absl::Span<const float> row);
  // Writes what is missing. Without rows the array is [0, 0].
  absl::Status Finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  NpyWriter(std::FILE* out, std::unique_ptr<std::FILE, CloseFile> spool, long start)
      : out_(out), spool_(std::move(spool)), start_(start) {}

  std::FILE* out_;
  std::unique_ptr<std::FILE, CloseFile> spool_;  // null: `out_` can be rewound
  long start_;                                   // where the header goes in `out_`
  uint64_t rows_ = 0;
  uint64_t cols_ = 0;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_NPY_WRITER_H_
