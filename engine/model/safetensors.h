// A strict reader of safetensors files (https://github.com/huggingface/safetensors, format
// section).
#ifndef ATTUNE_ENGINE_MODEL_SAFETENSORS_H_
#define ATTUNE_ENGINE_MODEL_SAFETENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/file_reader.h"

namespace attune {

// One entry of the header.
struct TensorInfo {
  std::string dtype;           // "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;  // row-major
  int64_t elements = 0;        // product of shape
  int64_t begin = 0;           // bytes from the start of the data section
  int64_t end = 0;
};

// The parsed header. Every tensor's bytes equal its dtype times its shape; together the tensors
// tile the data section exactly: no overlap, no hole, no byte left over.
struct SafetensorsHeader {
  absl::btree_map<std::string, TensorInfo> tensors;
  int64_t data_begin = 0;  // file offset of the data section
};

// Parses the first bytes of a file of `file_bytes` bytes: the 8-byte length and the JSON header.
// kInvalidArgument says which rule was broken and for which tensor. Bounds are checked before
// anything is added, multiplied or allocated.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view length_and_json,
                                                         int64_t file_bytes);

// An open file. Immutable after Open; thread-safe.
class SafetensorsFile {
 public:
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return file_.path(); }

  // Reads tensor `name` widened to f32: F32 copied, F16 and BF16 exact. dst has its element count.
  // kNotFound if absent; kUnimplemented for another dtype; kInvalidArgument for a NaN or infinity;
  // kDataLoss if the file was truncated meanwhile. Each error names the tensor.
  absl::Status ReadF32(absl::string_view name, absl::Span<float> dst) const;

 private:
  SafetensorsFile(FileReader file, SafetensorsHeader header);

  FileReader file_;
  SafetensorsHeader header_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_SAFETENSORS_H_
