#include "client/cli/attention_source.h"

#include <utility>

#include "client/cli/float_bytes.h"

namespace attune::cli {
namespace {

class StreamedSource : public AttentionSource {
 public:
  explicit StreamedSource(std::unique_ptr<AttentionMapStream> stream)
      : stream_(std::move(stream)) {}

  const v1::AttentionMapResponse& map() const override { return stream_->map(); }

  absl::StatusOr<std::optional<AttentionLayer>> NextLayer() override {
    const absl::StatusOr<std::optional<v1::AttentionChunk>> layer = stream_->NextLayer();
    if (!layer.ok()) return layer.status();
    if (!layer->has_value()) return std::nullopt;
    absl::StatusOr<std::vector<float>> values = AttentionLayerValues(map(), **layer);
    if (!values.ok()) return values.status();
    return AttentionLayer{.values = *std::move(values),
                          .kept_mass = FloatsOf((*layer)->kept_mass())};
  }

 private:
  const std::unique_ptr<AttentionMapStream> stream_;
};

class WholeSource : public AttentionSource {
 public:
  // REQUIRES: `values` are those of `map`.
  WholeSource(v1::AttentionMapResponse map, std::vector<float> values)
      : map_(std::move(map)), values_(std::move(values)), kept_mass_(FloatsOf(map_.kept_mass())) {
    map_.clear_data();
    map_.clear_kept_mass();
  }

  const v1::AttentionMapResponse& map() const override { return map_; }

  absl::StatusOr<std::optional<AttentionLayer>> NextLayer() override {
    const size_t layers = map_.shape().empty() ? 0 : static_cast<size_t>(map_.shape(0));
    if (next_ == layers) return std::nullopt;
    const size_t layer = next_++;
    return AttentionLayer{.values = Part(values_, layer, layers),
                          .kept_mass = Part(kept_mass_, layer, layers)};
  }

 private:
  static std::vector<float> Part(const std::vector<float>& all, size_t layer, size_t layers) {
    const size_t size = all.size() / layers;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(layer * size);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

  v1::AttentionMapResponse map_;
  const std::vector<float> values_;
  const std::vector<float> kept_mass_;
  size_t next_ = 0;
};

}  // namespace

bool NeedsOneReply(const v1::AttentionQuery& query) {
  return query.layer_reduction() != v1::ATTENTION_REDUCTION_UNSPECIFIED ||
         query.erasure() != v1::TOKEN_ERASURE_UNSPECIFIED || query.ablate_size() > 0 ||
         query.mask_tokens_size() > 0 || query.has_mask() || query.has_max_bytes();
}

absl::StatusOr<std::unique_ptr<AttentionSource>> OpenAttention(const Client& client,
                                                               const v1::AttentionQuery& query,
                                                               bool stream) {
  if (stream) {
    absl::StatusOr<std::unique_ptr<AttentionMapStream>> opened = client.StreamAttentionMap(query);
    if (!opened.ok()) return opened.status();
    return std::make_unique<StreamedSource>(*std::move(opened));
  }
  absl::StatusOr<v1::AttentionMapResponse> map = client.AttentionMap(query);
  if (!map.ok()) return map.status();
  absl::StatusOr<std::vector<float>> values = AttentionValues(*map);
  if (!values.ok()) return values.status();
  return std::make_unique<WholeSource>(*std::move(map), *std::move(values));
}

}  // namespace attune::cli
