// Listens to a forward pass and makes of it what a MapPlan asks for.
#ifndef ATTUNE_ENGINE_INTERPRET_ATTENTION_MAPPER_H_
#define ATTUNE_ENGINE_INTERPRET_ATTENTION_MAPPER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/interpret/attention_flow.h"
#include "engine/interpret/head_summary.h"
#include "engine/interpret/map_encoder.h"
#include "engine/interpret/map_plan.h"
#include "engine/interpret/rollout.h"
#include "engine/model/config.h"
#include "engine/model/head_ablation.h"
#include "engine/model/layer_tap.h"
#include "engine/tensor/matrix.h"

namespace attune {

struct LayerHeadSummary {
  int64_t layer = 0;
  int64_t head = 0;
  HeadSummary summary;
};

struct MapResult {
  MapBytes maps;                             // of shape MapPlan::shape
  std::vector<LayerHeadSummary> statistics;  // by layer, then head
  std::vector<float> mixing_ratio;           // [chosen layers, seq], or empty
};

// A tap for a batch of one text. Holds the matrices of one layer at a time, of the heads that are
// needed alone; a layer is reduced to its part of the result before the next one begins.
// Thread-compatible.
class AttentionMapper final : public LayerTap {
 public:
  // Asked in the middle of matrices that take long: true ends with kCancelled.
  using ShouldStop = std::function<bool()>;

  // `config`, `plan` and `ablation` are borrowed; `ablation` is that of the pass, or null. A null
  // `should_stop` means never.
  AttentionMapper(const ModelConfig& config, const MapPlan& plan, const HeadAblation* ablation,
                  ShouldStop should_stop = nullptr);

  bool WantsWeights(int64_t layer, int64_t head) override;
  void OnWeights(int64_t text, int64_t layer, int64_t head, ConstMatrixView weights) override;
  bool WantsAttention(int64_t layer) override;
  void OnAttention(const AttentionStep& step) override;
  void OnHidden(int64_t layer, ConstMatrixView hidden) override;

  // What has been made of the maps since the last call, between layers of the pass. Errors as
  // Finish.
  absl::StatusOr<MapBytes> TakeMaps();

  // Call once, after the pass. kCancelled as above; kInternal if a value is not finite, oneDNN
  // failed or the pass left a layer out; kInvalidArgument if a value is too large for the encoding.
  absl::StatusOr<MapResult> Finish();

 private:
  bool IsChosen(int64_t layer) const;
  bool NeedsAllHeads(int64_t layer) const;
  bool IsZeroed(int64_t layer, int64_t head) const;

  absl::Status MapLayer(const AttentionStep& step);
  void Summarize(int64_t layer);
  void AddWeightMixing(int64_t layer);
  void ScoreHeads(const AttentionStep& step);
  absl::Status ScaleByValueNorms(const AttentionStep& step);
  absl::Status AddNormMap(const AttentionStep& step);
  absl::Status AddRollout();
  absl::Status AddFlow();
  absl::Status AddValueZeroing(const AttentionStep& step);

  // The mean of the layer's heads that are not zeroed; 0 x 0 if there is none.
  Matrix MeanWeights(int64_t layer) const;
  // Takes the chosen heads' matrices through head_reduction.
  absl::Status AddHeads(int64_t layer);
  // Takes the matrix of `slot`, one of plan.heads, through layer_reduction.
  absl::Status AddMap(int64_t slot, ConstMatrixView map);
  // Takes a matrix through the other steps of the plan.
  absl::Status Write(ConstMatrixView map);

  const ModelConfig& config_;
  const MapPlan& plan_;
  const HeadAblation* const ablation_;
  const ShouldStop should_stop_;

  std::vector<Matrix> weights_;  // [heads] of the layer at hand; 0 x 0 until wanted
  std::vector<Matrix> layer_sums_;
  Rollout rollout_;
  AttentionFlow flow_;
  MapEncoder encoder_;
  MapResult result_;
  int64_t layers_mapped_ = 0;
  absl::Status status_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTENTION_MAPPER_H_
