#include "engine/interpret/attention_mapper.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/interpret/head_reduction.h"
#include "engine/interpret/hidden_similarity.h"
#include "engine/interpret/map_rows.h"
#include "engine/interpret/matrix_product.h"
#include "engine/interpret/norm_maps.h"
#include "engine/interpret/value_zeroing.h"

namespace attune {
namespace {

bool Contains(const std::vector<int64_t>& ascending, int64_t number) {
  return std::binary_search(ascending.begin(), ascending.end(), number);
}

void CopyTo(ConstMatrixView src, Matrix& dst) {
  if (dst.rows() != src.rows) dst = Matrix(src.rows, src.cols);
  for (int64_t i = 0; i < src.rows; ++i) {
    std::copy(src.row(i).begin(), src.row(i).end(), dst.row(i).begin());
  }
}

Matrix Identity(int64_t seq) {
  Matrix identity(seq, seq);
  for (int64_t i = 0; i < seq; ++i) identity.view().at(i, i) = 1;
  return identity;
}

}  // namespace

AttentionMapper::AttentionMapper(const ModelConfig& config, const MapPlan& plan,
                                 const HeadAblation* ablation, ShouldStop should_stop)
    : config_(config),
      plan_(plan),
      ablation_(ablation),
      should_stop_(std::move(should_stop)),
      weights_(static_cast<size_t>(config.heads)),
      layer_sums_(static_cast<size_t>(plan.heads)),
      flow_(plan.text.seq),
      encoder_(plan.query.encoding, plan.query.sparsity) {}

bool AttentionMapper::IsChosen(int64_t layer) const { return Contains(plan_.query.layers, layer); }

bool AttentionMapper::IsZeroed(int64_t layer, int64_t head) const {
  return ablation_ != nullptr && ablation_->mode(layer, head) == AblationMode::kZero;
}

bool AttentionMapper::NeedsAllHeads(int64_t layer) const {
  switch (plan_.query.matrix) {
    case MapMatrix::kRollout:
    case MapMatrix::kFlow:
      return layer <= plan_.query.layers.back();
    case MapMatrix::kAttnNorm:
    case MapMatrix::kResNorm:
    case MapMatrix::kResLnNorm:
    case MapMatrix::kValueZeroing:
      return IsChosen(layer);
    default:
      return plan_.query.mixing_ratio && IsChosen(layer);
  }
}

bool AttentionMapper::WantsWeights(int64_t layer, int64_t head) {
  if (NeedsAllHeads(layer)) return true;
  const MapQuery& query = plan_.query;
  const bool from_weights =
      query.matrix == MapMatrix::kWeights || query.matrix == MapMatrix::kValueNorm;
  return (from_weights || query.statistics) && IsChosen(layer) && Contains(query.heads, head);
}

void AttentionMapper::OnWeights(int64_t text, int64_t /*layer*/, int64_t head,
                                ConstMatrixView weights) {
  ATTUNE_CHECK(text == 0 && weights.rows == plan_.text.seq);
  CopyTo(weights, weights_[static_cast<size_t>(head)]);
}

bool AttentionMapper::WantsAttention(int64_t layer) {
  if (NeedsAllHeads(layer)) return true;
  const bool has_matrix =
      plan_.query.matrix != MapMatrix::kNone && plan_.query.matrix != MapMatrix::kHiddenSimilarity;
  return IsChosen(layer) && (has_matrix || plan_.query.statistics);
}

void AttentionMapper::OnAttention(const AttentionStep& step) {
  if (status_.ok()) status_ = MapLayer(step);
}

void AttentionMapper::OnHidden(int64_t layer, ConstMatrixView hidden) {
  // Encoder layer l gives hidden state l + 1.
  if (plan_.query.matrix != MapMatrix::kHiddenSimilarity || !IsChosen(layer - 1)) return;
  if (!status_.ok()) return;
  status_ = AddMap(0, HiddenSimilarity(hidden).view());
  ++layers_mapped_;
}

absl::Status AttentionMapper::MapLayer(const AttentionStep& step) {
  const MapQuery& query = plan_.query;
  if (query.matrix == MapMatrix::kRollout) rollout_.AddLayer(MeanWeights(step.layer).view());
  if (query.matrix == MapMatrix::kFlow) flow_.AddLayer(MeanWeights(step.layer).view());
  if (!IsChosen(step.layer)) return absl::OkStatus();
  if (query.matrix != MapMatrix::kHiddenSimilarity) ++layers_mapped_;
  if (query.statistics) Summarize(step.layer);
  switch (query.matrix) {
    case MapMatrix::kWeights:
      if (query.mixing_ratio) AddWeightMixing(step.layer);
      return AddHeads(step.layer);
    case MapMatrix::kRawScores:
      ScoreHeads(step);
      return AddHeads(step.layer);
    case MapMatrix::kValueNorm:
      ATTUNE_RETURN_IF_ERROR(ScaleByValueNorms(step));
      return AddHeads(step.layer);
    case MapMatrix::kAttnNorm:
    case MapMatrix::kResNorm:
    case MapMatrix::kResLnNorm:
      return AddNormMap(step);
    case MapMatrix::kRollout:
      return AddRollout();
    case MapMatrix::kFlow:
      return AddFlow();
    case MapMatrix::kValueZeroing:
      return AddValueZeroing(step);
    case MapMatrix::kNone:
      if (query.mixing_ratio) AddWeightMixing(step.layer);
      break;
    case MapMatrix::kHiddenSimilarity:  // waits for OnHidden
      break;
  }
  return absl::OkStatus();
}

void AttentionMapper::Summarize(int64_t layer) {
  for (const int64_t head : plan_.query.heads) {
    const Matrix& weights = weights_[static_cast<size_t>(head)];
    result_.statistics.push_back({layer, head, SummarizeHead(weights.view(), plan_.text.roles)});
  }
}

// Attn-W of Kobayashi et al. 2021: 1 - mean over heads of A_ii.
void AttentionMapper::AddWeightMixing(int64_t layer) {
  std::vector<double> own(static_cast<size_t>(plan_.text.seq), 0.0);
  double heads = 0;
  for (int64_t head = 0; head < config_.heads; ++head) {
    if (IsZeroed(layer, head)) continue;
    ++heads;
    const ConstMatrixView weights = std::as_const(weights_[static_cast<size_t>(head)]).view();
    for (int64_t i = 0; i < weights.rows; ++i) own[static_cast<size_t>(i)] += weights.at(i, i);
  }
  for (const double sum : own) {
    result_.mixing_ratio.push_back(heads > 0 ? static_cast<float>(1 - sum / heads) : 0);
  }
}

// q_i . k_j / sqrt(head_dim), again from the projections: the kernel's own scores are powers of two
// by the time anyone could look at them.
void AttentionMapper::ScoreHeads(const AttentionStep& step) {
  const int64_t head_dim = config_.head_dim();
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  for (const int64_t head : plan_.query.heads) {
    const int64_t query_column = head * head_dim;
    const int64_t key_column = config_.hidden + query_column;
    Matrix& scores = weights_[static_cast<size_t>(head)];
    if (scores.rows() == 0) scores = Matrix(plan_.text.seq, plan_.text.seq);
    Multiply(step.qkv.Cols(query_column, query_column + head_dim),
             Transpose(step.qkv.Cols(key_column, key_column + head_dim)).view(), scale,
             scores.view());
  }
}

absl::Status AttentionMapper::ScaleByValueNorms(const AttentionStep& step) {
  ATTUNE_ASSIGN_OR_RETURN(const Matrix norms, ValueNorms(step, config_.heads));
  for (const int64_t head : plan_.query.heads) {
    Matrix& weights = weights_[static_cast<size_t>(head)];
    for (int64_t i = 0; i < weights.rows(); ++i) {
      const absl::Span<float> row = weights.row(i);
      std::transform(row.begin(), row.end(), norms.row(head).begin(), row.begin(),
                     [](float weight, float norm) { return weight * norm; });
    }
  }
  return absl::OkStatus();
}

absl::Status AttentionMapper::AddNormMap(const AttentionStep& step) {
  ATTUNE_ASSIGN_OR_RETURN(const NormMap map, MakeNormMap(plan_.query.matrix, step, weights_));
  if (plan_.query.mixing_ratio) {
    for (const double ratio : map.mixing_ratio) {
      result_.mixing_ratio.push_back(static_cast<float>(ratio));
    }
  }
  return AddMap(0, map.norms.view());
}

absl::Status AttentionMapper::AddRollout() {
  if (rollout_.product().rows > 0) return AddMap(0, rollout_.product());
  return AddMap(0, Identity(plan_.text.seq).view());
}

absl::Status AttentionMapper::AddValueZeroing(const AttentionStep& step) {
  ATTUNE_ASSIGN_OR_RETURN(const Matrix map, ValueZeroing(step, weights_, should_stop_));
  return AddMap(0, map.view());
}

absl::Status AttentionMapper::AddFlow() {
  ATTUNE_ASSIGN_OR_RETURN(const Matrix flows, flow_.Flows(should_stop_));
  return AddMap(0, flows.view());
}

Matrix AttentionMapper::MeanWeights(int64_t layer) const {
  std::vector<ConstMatrixView> heads;
  for (int64_t head = 0; head < config_.heads; ++head) {
    if (!IsZeroed(layer, head)) heads.push_back(weights_[static_cast<size_t>(head)].view());
  }
  return heads.empty() ? Matrix() : ReduceHeads(MapReduction::kMean, heads);
}

absl::Status AttentionMapper::AddHeads(int64_t layer) {
  const MapReduction reduction = plan_.query.head_reduction;
  std::vector<ConstMatrixView> maps;
  for (const int64_t head : plan_.query.heads) {
    if (reduction == MapReduction::kMean && IsZeroed(layer, head)) continue;
    maps.push_back(std::as_const(weights_[static_cast<size_t>(head)]).view());
  }
  if (reduction == MapReduction::kNone) {
    for (size_t slot = 0; slot < maps.size(); ++slot) {
      ATTUNE_RETURN_IF_ERROR(AddMap(static_cast<int64_t>(slot), maps[slot]));
    }
    return absl::OkStatus();
  }
  if (maps.empty()) return AddMap(0, Matrix(plan_.text.seq, plan_.text.seq).view());
  return AddMap(0, ReduceHeads(reduction, maps).view());
}

absl::Status AttentionMapper::AddMap(int64_t slot, ConstMatrixView map) {
  if (plan_.query.layer_reduction == MapReduction::kNone) return Write(map);
  Matrix& sum = layer_sums_[static_cast<size_t>(slot)];
  if (sum.rows() == 0) {
    CopyTo(map, sum);
    return absl::OkStatus();
  }
  for (int64_t i = 0; i < map.rows; ++i) {
    const absl::Span<float> row = sum.row(i);
    std::transform(row.begin(), row.end(), map.row(i).begin(), row.begin(), std::plus<float>());
  }
  return absl::OkStatus();
}

absl::Status AttentionMapper::Write(ConstMatrixView map) {
  const MapRows rows = SelectMapRows(plan_, map);
  if (plan_.query.pool.has_value()) {
    if (rows.values.rows() == 0 || rows.values.cols() == 0) return absl::OkStatus();
    return encoder_.Append(PoolMap(*plan_.query.pool, rows.values.view()).view(), {});
  }
  const absl::Span<const float> kept =
      plan_.has_kept_mass() ? rows.kept_mass : absl::Span<const float>();
  return encoder_.Append(rows.values.view(), kept);
}

absl::StatusOr<MapBytes> AttentionMapper::TakeMaps() {
  ATTUNE_RETURN_IF_ERROR(status_);
  return encoder_.Take();
}

absl::StatusOr<MapResult> AttentionMapper::Finish() {
  ATTUNE_RETURN_IF_ERROR(status_);
  const auto chosen = static_cast<int64_t>(plan_.query.layers.size());
  const bool listened =
      plan_.query.matrix != MapMatrix::kNone || plan_.query.statistics || plan_.query.mixing_ratio;
  if (listened && layers_mapped_ != chosen) {
    return absl::InternalError(absl::StrCat("the forward pass left out ", chosen - layers_mapped_,
                                            " of ", chosen, " layers"));
  }
  if (plan_.query.layer_reduction != MapReduction::kNone &&
      plan_.query.matrix != MapMatrix::kNone) {
    for (Matrix& sum : layer_sums_) {
      for (float& value : sum.span()) value /= static_cast<float>(chosen);
      ATTUNE_RETURN_IF_ERROR(Write(sum.view()));
    }
  }
  result_.maps = encoder_.Take();
  return std::move(result_);
}

}  // namespace attune
