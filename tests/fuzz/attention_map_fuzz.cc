// What the client is sent as an attention map: any message gives an error, or numbers and names
// that are those of its shape. The first byte chooses one reply, or a stream whose parts each
// follow their length in two bytes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/attention_stream_check.h"
#include "client/attention_values.h"
#include "client/cli/map_names.h"
#include "engine/base/check.h"

namespace attune {
namespace {

void ReadReply(absl::string_view bytes) {
  v1::AttentionMapResponse map;
  if (!map.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const absl::StatusOr<std::vector<float>> values = AttentionValues(map);
  if (!values.ok() || map.shape().empty()) return;
  uint64_t cells = 1;
  for (const uint64_t size : map.shape()) cells *= size;
  ATTUNE_CHECK(values->size() == cells);
  const absl::StatusOr<cli::MapNames> names = cli::NamesOfMap(map);
  if (!names.ok()) return;
  ATTUNE_CHECK(names->queries.size() == map.shape(2) && names->keys.size() == map.shape(3));
}

// The next part, which is taken off `bytes`.
std::optional<v1::StreamAttentionMapResponse> NextPart(absl::string_view& bytes) {
  if (bytes.size() < 2) return std::nullopt;
  const size_t low = static_cast<unsigned char>(bytes[0]);
  const size_t high = static_cast<unsigned char>(bytes[1]);
  const size_t length = low | high << 8;
  bytes.remove_prefix(2);
  const absl::string_view part = bytes.substr(0, length);
  bytes.remove_prefix(part.size());
  v1::StreamAttentionMapResponse message;
  if (!message.ParseFromArray(part.data(), static_cast<int>(part.size()))) return std::nullopt;
  return message;
}

void ReadStream(absl::string_view bytes) {
  const std::optional<v1::StreamAttentionMapResponse> first = NextPart(bytes);
  if (!first.has_value()) return;
  absl::StatusOr<internal::AttentionStreamCheck> check =
      internal::AttentionStreamCheck::Create(first->header());
  if (!check.ok()) return;
  while (const auto part = NextPart(bytes)) {
    if (part->has_trailer()) {
      const bool whole = check->Finish(part->trailer()).ok();
      ATTUNE_CHECK(!whole || check->has_all_rows());
      return;
    }
    if (!check->Take(part->chunk()).ok()) return;
    const absl::StatusOr<std::vector<float>> values =
        AttentionLayerValues(first->header(), part->chunk());
    ATTUNE_CHECK(!values.ok() || values->size() == part->chunk().rows() * first->header().shape(3));
  }
}

}  // namespace
}  // namespace attune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  data[0] % 2 == 0 ? attune::ReadReply(bytes) : attune::ReadStream(bytes);
  return 0;
}
