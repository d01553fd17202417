#include "engine/model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/check.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "engine/model/json_fields.h"
#include "engine/tensor/finite.h"
#include "engine/tensor/half.h"

namespace attune {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr int64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr size_t kMaxRank = 16;
// A tensor takes about a dozen keys and values, so this is some 80,000 tensors, several times what
// the largest published shards hold; what matters is that memory stays far below 1e6 keys' worth.
constexpr JsonLimits kHeaderLimits = {.max_depth = 3, .max_values = 1'000'000};

struct Dtype {
  absl::string_view name;
  int64_t bits;
};
constexpr std::array<Dtype, 22> kDtypes = {{
    {"BOOL", 8},        {"U8", 8},          {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8},     {"U16", 16},        {"I16", 16}, {"F16", 16},    {"BF16", 16},
    {"U32", 32},        {"I32", 32},        {"F32", 32}, {"U64", 64},    {"I64", 64},
    {"F64", 64},        {"C64", 64},        {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
}};

absl::Status Invalid(absl::string_view tensor, absl::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", QuoteJson(ShortenForMessage(tensor)), ": ", problem));
}

// The size of length and header together, from the first bytes of the file.
absl::StatusOr<int64_t> HeaderEnd(absl::string_view head, int64_t file_bytes) {
  // Read as a length, these eight letters are 2336927755350992246: "header too large" would be
  // true, and of no help.
  if (absl::StartsWith(head, "version ")) {
    return absl::InvalidArgumentError(
        "looks like a Git LFS pointer, not the file itself: run \"git lfs pull\"");
  }
  if (file_bytes < kLengthBytes || head.size() < static_cast<size_t>(kLengthBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", file_bytes, " bytes; a safetensors file starts with an 8-byte header length"));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, head.data(), sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("claims a header of ", header_bytes,
                                                   " bytes; the limit is ", kMaxHeaderBytes));
  }
  if (header_bytes > static_cast<uint64_t>(file_bytes - kLengthBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("claims a header of ", header_bytes,
                                                   " bytes, but only ", file_bytes - kLengthBytes,
                                                   " bytes follow: the file is incomplete"));
  }
  return kLengthBytes + static_cast<int64_t>(header_bytes);
}

// The elements of an array of integers in [0, int64 max].
absl::StatusOr<std::vector<int64_t>> Integers(absl::string_view tensor, absl::string_view key,
                                              const Json& array, size_t max_size) {
  if (!array.is_array() || array.size() > max_size) {
    return Invalid(
        tensor, absl::StrCat("\"", key, "\" is not an array of at most ", max_size, " integers"));
  }
  std::vector<int64_t> values;
  for (const Json& value : array) {
    const std::optional<int64_t> integer = AsInt64(value);
    if (!value.is_number_unsigned() || !integer.has_value()) {  // -0 is refused too
      return Invalid(tensor, absl::StrCat("\"", key, "\" contains ", Shown(value),
                                          ", which is not an integer from 0 to 2^63 - 1"));
    }
    values.push_back(*integer);
  }
  return values;
}

// Checks that begin .. end is as long as dtype and shape say, and counts the elements.
absl::Status CheckSize(absl::string_view name, TensorInfo& tensor) {
  const auto dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const Dtype& known) { return known.name == tensor.dtype; });
  if (dtype == kDtypes.end()) {
    return Invalid(name,
                   absl::StrCat("unknown dtype ", QuoteJson(ShortenForMessage(tensor.dtype))));
  }
  tensor.elements = 1;
  int64_t bits = 0;
  bool overflow = false;
  for (int64_t dimension : tensor.shape) {
    overflow |= __builtin_mul_overflow(tensor.elements, dimension, &tensor.elements);
  }
  overflow |= __builtin_mul_overflow(tensor.elements, dtype->bits, &bits);
  const std::string shape = absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]");
  if (overflow) return Invalid(name, absl::StrCat("shape ", shape, " has too many elements"));
  if (bits % 8 != 0) {
    return Invalid(name, absl::StrCat(tensor.dtype, " ", shape, " does not fill whole bytes"));
  }
  if (tensor.begin > tensor.end || tensor.end - tensor.begin != bits / 8) {
    return Invalid(name,
                   absl::StrCat(tensor.dtype, " ", shape, " takes ", bits / 8,
                                " bytes, but data_offsets are ", tensor.begin, " to ", tensor.end));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorInfo> ParseTensor(absl::string_view name, const Json& entry) {
  if (!entry.is_object()) return Invalid(name, "its entry is not an object");
  const Json* dtype = FindMember(entry, "dtype");
  const Json* shape = FindMember(entry, "shape");
  const Json* offsets = FindMember(entry, "data_offsets");
  if (dtype == nullptr || shape == nullptr || offsets == nullptr || entry.size() != 3) {
    return Invalid(name, "its entry must have exactly dtype, shape and data_offsets");
  }
  if (!dtype->is_string()) return Invalid(name, "\"dtype\" is not a string");
  TensorInfo tensor;
  tensor.dtype = dtype->get<std::string>();
  ATTUNE_ASSIGN_OR_RETURN(tensor.shape, Integers(name, "shape", *shape, kMaxRank));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> range,
                          Integers(name, "data_offsets", *offsets, 2));
  if (range.size() != 2) return Invalid(name, "\"data_offsets\" does not have two elements");
  tensor.begin = range[0];
  tensor.end = range[1];
  ATTUNE_RETURN_IF_ERROR(CheckSize(name, tensor));
  return tensor;
}

absl::Status CheckMetadata(const Json& metadata) {
  if (!metadata.is_object()) return absl::InvalidArgumentError("__metadata__ is not an object");
  for (const auto& [key, value] : metadata.items()) {
    if (!value.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "__metadata__ value of ", QuoteJson(ShortenForMessage(key)), " is not a string"));
    }
  }
  return absl::OkStatus();
}

// Every byte of the data section belongs to exactly one tensor.
absl::Status CheckTiling(const SafetensorsHeader& header, int64_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorInfo>*> order;
  for (const auto& entry : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  int64_t position = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    if (tensor.begin != position) {
      return Invalid(
          name, absl::StrCat("its data starts at ", tensor.begin, ", ",
                             tensor.begin < position ? "inside another tensor's" : "after a hole",
                             "; expected ", position));
    }
    position = tensor.end;
  }
  if (position != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("its tensors take ", position, " bytes, but ", data_bytes,
                     position > data_bytes ? " bytes follow the header: the file is incomplete"
                                           : " bytes follow the header"));
  }
  return absl::OkStatus();
}

// Turns the 16-bit values in the second half of `dst` into floats from the front: the write never
// overtakes the read, so no second buffer is needed.
template <float (*kWiden)(uint16_t)>
void WidenInPlace(absl::Span<float> dst) {
  const char* src = reinterpret_cast<const char*>(dst.data()) + dst.size() * sizeof(uint16_t);
  for (float& value : dst) {
    uint16_t bits = 0;
    std::memcpy(&bits, src, sizeof(bits));
    src += sizeof(bits);
    value = kWiden(bits);
  }
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view length_and_json,
                                                         int64_t file_bytes) {
  SafetensorsHeader header;
  ATTUNE_ASSIGN_OR_RETURN(header.data_begin, HeaderEnd(length_and_json, file_bytes));
  if (length_and_json.size() < static_cast<size_t>(header.data_begin)) {
    return absl::InvalidArgumentError("the header is incomplete");
  }
  const absl::string_view text = length_and_json.substr(
      static_cast<size_t>(kLengthBytes), static_cast<size_t>(header.data_begin - kLengthBytes));
  if (!absl::StartsWith(text, "{")) {
    return absl::InvalidArgumentError("the header does not start with '{'");
  }
  ATTUNE_ASSIGN_OR_RETURN(const Json json, ParseJson(text, kHeaderLimits));
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      ATTUNE_RETURN_IF_ERROR(CheckMetadata(entry));
      continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(header.tensors[name], ParseTensor(name, entry));
  }
  ATTUNE_RETURN_IF_ERROR(CheckTiling(header, file_bytes - header.data_begin));
  return header;
}

SafetensorsFile::SafetensorsFile(FileReader file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  std::string head(static_cast<size_t>(std::min(file.size_bytes(), kLengthBytes)), '\0');
  ATTUNE_RETURN_IF_ERROR(file.ReadAt(0, static_cast<int64_t>(head.size()), head.data()));
  const absl::StatusOr<int64_t> header_end = HeaderEnd(head, file.size_bytes());
  if (!header_end.ok()) return AnnotateStatus(header_end.status(), path);
  head.resize(static_cast<size_t>(*header_end));
  ATTUNE_RETURN_IF_ERROR(file.ReadAt(0, *header_end, head.data()));
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(head, file.size_bytes());
  if (!header.ok()) return AnnotateStatus(header.status(), path);
  return SafetensorsFile(std::move(file), *std::move(header));
}

absl::Status SafetensorsFile::ReadF32(absl::string_view name, absl::Span<float> dst) const {
  const auto it = header_.tensors.find(name);
  if (it == header_.tensors.end()) {
    return absl::NotFoundError(absl::StrCat(path(), ": no tensor \"", name, "\""));
  }
  const TensorInfo& tensor = it->second;
  ATTUNE_CHECK(static_cast<int64_t>(dst.size()) == tensor.elements);
  const bool is_f32 = tensor.dtype == "F32";
  if (!is_f32 && tensor.dtype != "F16" && tensor.dtype != "BF16") {
    return absl::UnimplementedError(absl::StrCat(
        path(), ": tensor \"", name, "\" is ", tensor.dtype, "; weights may be F32, F16 or BF16"));
  }
  const int64_t bytes = tensor.end - tensor.begin;
  char* end = reinterpret_cast<char*>(dst.data() + dst.size());
  const absl::Status read = file_.ReadAt(header_.data_begin + tensor.begin, bytes, end - bytes);
  if (!read.ok()) return AnnotateStatus(read, absl::StrCat("tensor \"", name, "\""));
  if (tensor.dtype == "F16") WidenInPlace<F16ToF32>(dst);
  if (tensor.dtype == "BF16") WidenInPlace<Bf16ToF32>(dst);
  if (const std::optional<int64_t> bad = FindNotFinite(dst); bad.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": tensor \"", name, "\" has ",
                                                   dst[static_cast<size_t>(*bad)], " at element ",
                                                   *bad));
  }
  return absl::OkStatus();
}

}  // namespace attune
