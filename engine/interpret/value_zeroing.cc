#include "engine/interpret/value_zeroing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/dot.h"

namespace attune {
namespace {

void CopyRow(absl::Span<const float> src, absl::Span<float> dst) {
  std::copy(src.begin(), src.end(), dst.begin());
}

// 1 - cosine, as half the squared distance of the directions: exactly 0 for equal vectors.
double Turn(absl::Span<const float> a, absl::Span<const float> b) {
  const double a_length = std::sqrt(Dot(a, a));
  const double b_length = std::sqrt(Dot(b, b));
  if (a_length == 0 || b_length == 0) return a_length == b_length ? 0 : 1;
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const double difference = double{a[k]} / a_length - double{b[k]} / b_length;
    sum += difference * difference;
  }
  return sum / 2;
}

// The outputs of one token, once for each token whose value is zero.
class ZeroedOutputs {
 public:
  ZeroedOutputs(const AttentionStep& step, absl::Span<const Matrix> weights)
      : step_(step),
        weights_(weights),
        seq_(step.input.rows),
        residual_(Linear::PaddedRows(seq_), step.input.cols),
        mixed_(Linear::PaddedRows(seq_), step.input.cols) {}

  // The layer's outputs [seq, hidden] as they are, until the next call.
  absl::StatusOr<ConstMatrixView> Unchanged() {
    for (int64_t i = 0; i < seq_; ++i) {
      CopyRow(step_.input.row(i), residual_.row(i));
      CopyRow(step_.mixed.row(i), mixed_.row(i));
    }
    return Finish();
  }

  // The output of token `query` in row j without the value of token j; until the next call.
  absl::StatusOr<ConstMatrixView> Of(int64_t query) {
    for (int64_t key = 0; key < seq_; ++key) {
      CopyRow(step_.input.row(query), residual_.row(key));
      CopyRow(step_.mixed.row(query), mixed_.row(key));
      TakeOut(query, key, mixed_.row(key));
    }
    return Finish();
  }

 private:
  // mixed -= what `query` got from `key`, the heads' values side by side.
  void TakeOut(int64_t query, int64_t key, absl::Span<float> mixed) const {
    const size_t head_dim = mixed.size() / weights_.size();
    const float* value = step_.qkv.row(key).data() + 2 * step_.input.cols;
    for (size_t k = 0; k < mixed.size(); ++k) {
      mixed[k] -= weights_[k / head_dim].view().at(query, key) * value[k];
    }
  }

  absl::StatusOr<ConstMatrixView> Finish() {
    const MatrixView residual = residual_.view().Rows(0, seq_);
    ATTUNE_RETURN_IF_ERROR(step_.finish(residual, mixed_.view().Rows(0, seq_)));
    return residual;
  }

  const AttentionStep& step_;
  const absl::Span<const Matrix> weights_;
  const int64_t seq_;
  Matrix residual_;  // [seq, hidden], becomes the output
  Matrix mixed_;     // [seq, hidden]
};

}  // namespace

absl::StatusOr<Matrix> ValueZeroing(const AttentionStep& step, absl::Span<const Matrix> weights,
                                    const std::function<bool()>& should_stop) {
  const int64_t seq = step.input.rows;
  ZeroedOutputs zeroed(step, weights);
  Matrix unchanged(seq, step.input.cols);
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView outputs, zeroed.Unchanged());
  for (int64_t i = 0; i < seq; ++i) CopyRow(outputs.row(i), unchanged.row(i));

  Matrix map(seq, seq);
  std::vector<double> turns(static_cast<size_t>(seq));
  for (int64_t query = 0; query < seq; ++query) {
    if (should_stop && should_stop()) {
      return absl::CancelledError(absl::StrCat("stopped before row ", query, " of value zeroing"));
    }
    ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView changed, zeroed.Of(query));
    for (int64_t key = 0; key < seq; ++key) {
      turns[static_cast<size_t>(key)] = Turn(unchanged.row(query), changed.row(key));
    }
    const double sum = std::accumulate(turns.begin(), turns.end(), 0.0);
    if (sum == 0) continue;
    std::transform(turns.begin(), turns.end(), map.row(query).begin(),
                   [sum](double turn) { return static_cast<float>(turn / sum); });
  }
  return map;
}

}  // namespace attune
