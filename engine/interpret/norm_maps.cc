#include "engine/interpret/norm_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/interpret/head_vectors.h"
#include "engine/ops/linear_input.h"
#include "engine/tensor/dot.h"

namespace attune {
namespace {

// A number for each key of a block: summed side by side, in registers.
constexpr size_t kLanes = HeadVectors::kMaxTokens;
using Lanes = std::array<double, kLanes>;

// sums += a * b
void AddProduct(const Lanes& a, const Lanes& b, Lanes& sums) {
  for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[lane] * b[lane];
}

double Norm(absl::Span<const float> vector) { return std::sqrt(Dot(vector, vector)); }

double Norm(const std::vector<double>& vector) {
  double sum = 0;
  for (const double value : vector) sum += value * value;
  return std::sqrt(sum);
}

// What a kind of norm map does to vectors before it measures them: nothing, or the linear part of
// the layer normalisation, w -> gamma * (w - mean(w)), whose divisor belongs to the row.
class VectorTransform {
 public:
  VectorTransform(MapMatrix kind, const AttentionStep& step)
      : normalizes_(kind == MapMatrix::kResLnNorm), gamma_(step.norm.gamma.span()) {}

  template <typename Value>
  void Apply(absl::Span<Value> vector) const {
    if (!normalizes_) return;
    double mean = 0;
    for (const Value value : vector) mean += static_cast<double>(value);
    mean /= static_cast<double>(vector.size());
    for (size_t k = 0; k < vector.size(); ++k) {
      vector[k] = static_cast<Value>(double{gamma_[k]} * (static_cast<double>(vector[k]) - mean));
    }
  }

  void ApplyToRows(MatrixView rows) const {
    for (int64_t i = 0; i < rows.rows; ++i) Apply(rows.row(i));
  }

 private:
  const bool normalizes_;
  const absl::Span<const float> gamma_;
};

// sqrt(variance + epsilon) of a row before layer normalisation: of the sum of both parts.
double Deviation(absl::Span<const float> input, absl::Span<const float> output, float epsilon) {
  std::vector<double> row(input.size());
  double mean = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    row[k] = double{input[k]} + double{output[k]};
    mean += row[k];
  }
  mean /= static_cast<double>(row.size());
  double variance = 0;
  for (const double value : row) variance += (value - mean) * (value - mean);
  return std::sqrt(variance / static_cast<double>(row.size()) + double{epsilon});
}

class NormMapMaker {
 public:
  NormMapMaker(MapMatrix kind, const AttentionStep& step, absl::Span<const Matrix> weights)
      : kind_(kind),
        step_(step),
        weights_(weights),
        heads_(static_cast<int64_t>(weights.size())),
        seq_(step.input.rows),
        transform_(kind, step),
        products_(static_cast<size_t>(heads_ * (heads_ + 1) / 2)),
        row_weights_(static_cast<size_t>(heads_)) {}

  absl::StatusOr<NormMap> Make() {
    map_.norms = Matrix(seq_, seq_);
    map_.mixing_ratio.resize(static_cast<size_t>(seq_));
    ATTUNE_ASSIGN_OR_RETURN(OutputWeights output, ReadOutputWeights(step_));
    ATTUNE_RETURN_IF_ERROR(ProjectRows(output.bias.row(0)));
    transform_.ApplyToRows(output.columns.view());
    ATTUNE_ASSIGN_OR_RETURN(HeadVectors vectors,
                            HeadVectors::Create(step_, heads_, output.columns));
    for (int64_t begin = 0; begin < seq_; begin += HeadVectors::kMaxTokens) {
      const int64_t end = std::min(begin + HeadVectors::kMaxTokens, seq_);
      ATTUNE_RETURN_IF_ERROR(vectors.Load(begin, end));
      MultiplyHeads(vectors, begin, end);
      for (int64_t row = 0; row < seq_; ++row) MeasureRow(row, begin, end);
      for (int64_t key = begin; key < end; ++key) MeasureOwn(vectors, key);
    }
    return std::move(map_);
  }

 private:
  // What all heads together give each row, and by what its layer normalisation divides.
  absl::Status ProjectRows(absl::Span<const float> bias) {
    outputs_ = Matrix(Linear::PaddedRows(seq_), step_.input.cols);
    LinearInput scratch(step_.output.precision(), Linear::PaddedRows(seq_), step_.input.cols);
    const LinearInputView mixed = scratch.view().Rows(0, seq_);
    PackLinearInput(step_.mixed, mixed);
    const MatrixView outputs = outputs_.view().Rows(0, seq_);
    ATTUNE_RETURN_IF_ERROR(step_.output.Run(step_.context, mixed, outputs));
    deviations_.assign(static_cast<size_t>(seq_), 1.0);
    for (int64_t i = 0; i < seq_; ++i) {
      const absl::Span<float> row = outputs.row(i);
      if (kind_ == MapMatrix::kResLnNorm) {
        deviations_[static_cast<size_t>(i)] = Deviation(step_.input.row(i), row, step_.epsilon);
      }
      std::transform(row.begin(), row.end(), bias.begin(), row.begin(), std::minus<float>());
    }
    transform_.ApplyToRows(outputs);
    return absl::OkStatus();
  }

  // The products of the heads' vectors, for each key of a block and each two heads; those of
  // different heads twice, since they stand for both orders.
  void MultiplyHeads(const HeadVectors& vectors, int64_t begin, int64_t end) {
    for (int64_t key = begin; key < end; ++key) {
      const auto lane = static_cast<size_t>(key - begin);
      size_t pair = 0;
      for (int64_t h = 0; h < heads_; ++h) {
        for (int64_t g = h; g < heads_; ++g) {
          const double product = Dot(vectors.Of(h, key), vectors.Of(g, key));
          products_[pair++][lane] = g == h ? product : 2 * product;
        }
      }
    }
  }

  // The row's norms for the keys of a block: the roots of a^T G a, a the heads' weights on a key.
  void MeasureRow(int64_t row, int64_t begin, int64_t end) {
    for (size_t head = 0; head < row_weights_.size(); ++head) {
      const float* weights = weights_[head].row(row).data() + begin;
      std::copy_n(weights, end - begin, row_weights_[head].begin());
    }
    Lanes squares = {};
    const Lanes* product = products_.data();
    for (size_t h = 0; h < row_weights_.size(); ++h) {
      Lanes sums = {};
      for (size_t g = h; g < row_weights_.size(); ++g)
        AddProduct(*product++, row_weights_[g], sums);
      AddProduct(row_weights_[h], sums, squares);
    }
    const absl::Span<float> norms = map_.norms.row(row);
    for (int64_t key = begin; key < end; ++key) {
      const double square = std::max(0.0, squares[static_cast<size_t>(key - begin)]);
      norms[static_cast<size_t>(key)] =
          static_cast<float>(std::sqrt(square) / deviations_[static_cast<size_t>(row)]);
    }
  }

  // The diagonal, where the residual is, and the mixing ratio.
  void MeasureOwn(const HeadVectors& vectors, int64_t i) {
    const auto row = static_cast<size_t>(i);
    std::vector<double> own(static_cast<size_t>(step_.input.cols), 0.0);
    for (int64_t head = 0; head < heads_; ++head) {
      const double weight = weights_[static_cast<size_t>(head)].view().at(i, i);
      const absl::Span<const float> vector = vectors.Of(head, i);
      for (size_t k = 0; k < own.size(); ++k) own[k] += weight * double{vector[k]};
    }
    std::vector<double> others(own.size());
    const absl::Span<const float> output = outputs_.row(i);
    for (size_t k = 0; k < own.size(); ++k) others[k] = double{output[k]} - own[k];
    if (kind_ != MapMatrix::kAttnNorm) AddResidual(i, own);
    const double own_norm = Norm(own);
    const double others_norm = Norm(others);
    const double both = own_norm + others_norm;
    map_.norms.view().at(i, i) = static_cast<float>(own_norm / deviations_[row]);
    map_.mixing_ratio[row] = both > 0 ? others_norm / both : 0;
  }

  void AddResidual(int64_t i, std::vector<double>& sum) const {
    const absl::Span<const float> input = step_.input.row(i);
    std::vector<double> residual(input.begin(), input.end());
    transform_.Apply(absl::MakeSpan(residual));
    std::transform(sum.begin(), sum.end(), residual.begin(), sum.begin(), std::plus<double>());
  }

  const MapMatrix kind_;
  const AttentionStep& step_;
  const absl::Span<const Matrix> weights_;
  const int64_t heads_;
  const int64_t seq_;
  const VectorTransform transform_;
  Matrix outputs_;  // [seq, hidden]: W_O mixed, transformed
  std::vector<double> deviations_;
  std::vector<Lanes> products_;     // [heads * (heads + 1) / 2] of the keys at hand
  std::vector<Lanes> row_weights_;  // [heads]: a row's on those keys
  NormMap map_;
};

}  // namespace

absl::StatusOr<Matrix> ValueNorms(const AttentionStep& step, int64_t heads) {
  const int64_t seq = step.input.rows;
  Matrix norms(heads, seq);
  ATTUNE_ASSIGN_OR_RETURN(const OutputWeights output, ReadOutputWeights(step));
  ATTUNE_ASSIGN_OR_RETURN(HeadVectors vectors, HeadVectors::Create(step, heads, output.columns));
  for (int64_t begin = 0; begin < seq; begin += HeadVectors::kMaxTokens) {
    const int64_t end = std::min(begin + HeadVectors::kMaxTokens, seq);
    ATTUNE_RETURN_IF_ERROR(vectors.Load(begin, end));
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t key = begin; key < end; ++key) {
        norms.view().at(head, key) = static_cast<float>(Norm(vectors.Of(head, key)));
      }
    }
  }
  return norms;
}

absl::StatusOr<NormMap> MakeNormMap(MapMatrix kind, const AttentionStep& step,
                                    absl::Span<const Matrix> weights) {
  ATTUNE_CHECK(kind == MapMatrix::kAttnNorm || kind == MapMatrix::kResNorm ||
               kind == MapMatrix::kResLnNorm);
  return NormMapMaker(kind, step, weights).Make();
}

}  // namespace attune
