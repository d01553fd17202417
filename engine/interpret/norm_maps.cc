#include "engine/interpret/norm_maps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/ops/linear_input.h"
#include "engine/tensor/dot.h"

namespace attune {
namespace {

// Keys whose heads' vectors are in memory at a time.
constexpr int64_t kKeyBlock = 16;

double Norm(absl::Span<const float> vector) { return std::sqrt(Dot(vector, vector)); }

double Norm(const std::vector<double>& vector) {
  double sum = 0;
  for (const double value : vector) sum += value * value;
  return std::sqrt(sum);
}

// The output projection of a layer as a linear map without its bias.
class OutputProjection {
 public:
  OutputProjection(const AttentionStep& step, int64_t max_rows)
      : step_(step),
        input_(step.output.precision(), Linear::PaddedRows(max_rows), step.output.in()),
        bias_(Linear::kRowGroup, step.output.out()) {}

  absl::Status Init() {
    const Matrix zeros(Linear::kRowGroup, step_.output.in());
    return RunWithBias(zeros.view(), bias_.view());
  }

  // dst[rows, hidden] = W_O src, for at most max_rows rows. dst's memory has
  // Linear::PaddedRows(rows) rows.
  absl::Status Run(ConstMatrixView src, MatrixView dst) {
    ATTUNE_RETURN_IF_ERROR(RunWithBias(src, dst));
    for (int64_t i = 0; i < dst.rows; ++i) {
      const absl::Span<float> row = dst.row(i);
      for (size_t k = 0; k < row.size(); ++k) row[k] -= bias()[k];
    }
    return absl::OkStatus();
  }

  absl::Span<const float> bias() const { return bias_.row(0); }

 private:
  absl::Status RunWithBias(ConstMatrixView src, MatrixView dst) {
    const LinearInputView packed = input_.view().Rows(0, src.rows);
    PackLinearInput(src, packed);
    return step_.output.Run(step_.context, packed, dst);
  }

  const AttentionStep& step_;
  LinearInput input_;
  Matrix bias_;  // row 0; the others pad
};

// f_h(x_j) for every head and the keys of a block, one block after the other.
class HeadVectors {
 public:
  HeadVectors(const AttentionStep& step, int64_t heads)
      : step_(step),
        heads_(heads),
        hidden_(step.input.cols),
        projection_(step, heads * kKeyBlock),
        values_(heads * kKeyBlock, hidden_),
        vectors_(Linear::PaddedRows(heads * kKeyBlock), hidden_) {}

  absl::Status Init() { return projection_.Init(); }

  // Keys [begin, end), at most kKeyBlock of them.
  absl::Status Load(int64_t begin, int64_t end) {
    begin_ = begin;
    count_ = end - begin;
    const int64_t head_dim = hidden_ / heads_;
    std::fill(values_.span().begin(), values_.span().end(), 0.0f);
    for (int64_t head = 0; head < heads_; ++head) {
      for (int64_t key = begin; key < end; ++key) {
        const float* value = step_.qkv.row(key).data() + 2 * hidden_ + head * head_dim;
        std::copy_n(value, head_dim, values_.row(RowOf(head, key)).data() + head * head_dim);
      }
    }
    const int64_t rows = heads_ * count_;
    return projection_.Run(values_.view().Rows(0, rows), vectors_.view().Rows(0, rows));
  }

  absl::Span<float> Of(int64_t head, int64_t key) { return vectors_.row(RowOf(head, key)); }

 private:
  int64_t RowOf(int64_t head, int64_t key) const { return head * count_ + key - begin_; }

  const AttentionStep& step_;
  const int64_t heads_;
  const int64_t hidden_;
  int64_t begin_ = 0;
  int64_t count_ = 0;
  OutputProjection projection_;
  Matrix values_;   // [heads * block, hidden]: a head's value in its own columns, zeros elsewhere
  Matrix vectors_;  // [heads * block, hidden]
};

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

 private:
  const bool normalizes_;
  const absl::Span<const float> gamma_;
};

// sqrt(variance + epsilon) of a row before layer normalisation.
double Deviation(absl::Span<const float> input, absl::Span<const float> output,
                 absl::Span<const float> bias, float epsilon) {
  std::vector<double> row(input.size());
  double mean = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    row[k] = double{input[k]} + double{output[k]} + double{bias[k]};
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
        vectors_(step, heads_),
        key_weights_(heads_, seq_) {}

  absl::StatusOr<NormMap> Make() {
    map_.norms = Matrix(seq_, seq_);
    map_.mixing_ratio.resize(static_cast<size_t>(seq_));
    ATTUNE_RETURN_IF_ERROR(vectors_.Init());
    ATTUNE_RETURN_IF_ERROR(ProjectRows());
    for (int64_t begin = 0; begin < seq_; begin += kKeyBlock) {
      const int64_t end = std::min(begin + kKeyBlock, seq_);
      ATTUNE_RETURN_IF_ERROR(vectors_.Load(begin, end));
      for (int64_t key = begin; key < end; ++key) MeasureKey(key);
    }
    return std::move(map_);
  }

 private:
  // What all heads together give each row, and by what its layer normalisation divides.
  absl::Status ProjectRows() {
    OutputProjection projection(step_, seq_);
    ATTUNE_RETURN_IF_ERROR(projection.Init());
    outputs_ = Matrix(Linear::PaddedRows(seq_), step_.input.cols);
    ATTUNE_RETURN_IF_ERROR(projection.Run(step_.mixed, outputs_.view().Rows(0, seq_)));
    deviations_.assign(static_cast<size_t>(seq_), 1.0);
    if (kind_ != MapMatrix::kResLnNorm) return absl::OkStatus();
    for (int64_t i = 0; i < seq_; ++i) {
      deviations_[static_cast<size_t>(i)] =
          Deviation(step_.input.row(i), outputs_.row(i), projection.bias(), step_.epsilon);
    }
    return absl::OkStatus();
  }

  // The column of `key`.
  void MeasureKey(int64_t key) {
    MeasureOwn(key);
    for (int64_t head = 0; head < heads_; ++head) {
      transform_.Apply(vectors_.Of(head, key));
      const absl::Span<float> column = key_weights_.row(head);
      const Matrix& matrix = weights_[static_cast<size_t>(head)];
      for (int64_t i = 0; i < seq_; ++i) column[static_cast<size_t>(i)] = matrix.view().at(i, key);
    }
    const std::vector<double> squares = SquaredNorms(key);
    for (int64_t i = 0; i < seq_; ++i) {
      if (i == key) continue;
      const auto row = static_cast<size_t>(i);
      map_.norms.view().at(i, key) =
          static_cast<float>(std::sqrt(std::max(0.0, squares[row])) / deviations_[row]);
    }
  }

  // a^T G a for every row, a its heads' weights on the key.
  std::vector<double> SquaredNorms(int64_t key) {
    std::vector<double> squares(static_cast<size_t>(seq_), 0.0);
    for (int64_t h = 0; h < heads_; ++h) {
      const absl::Span<const float> first = key_weights_.row(h);
      for (int64_t g = h; g < heads_; ++g) {
        const absl::Span<const float> second = key_weights_.row(g);
        const double product = Dot(vectors_.Of(h, key), vectors_.Of(g, key)) * (g == h ? 1 : 2);
        for (size_t i = 0; i < squares.size(); ++i) {
          squares[i] += product * (double{first[i]} * double{second[i]});
        }
      }
    }
    return squares;
  }

  // The diagonal, where the residual is, and the mixing ratio: vectors before they are transformed.
  void MeasureOwn(int64_t i) {
    const auto row = static_cast<size_t>(i);
    std::vector<double> own(static_cast<size_t>(step_.input.cols), 0.0);
    for (int64_t head = 0; head < heads_; ++head) {
      const double weight = weights_[static_cast<size_t>(head)].view().at(i, i);
      const absl::Span<const float> vector = vectors_.Of(head, i);
      for (size_t k = 0; k < own.size(); ++k) own[k] += weight * double{vector[k]};
    }
    std::vector<double> others(own.size());
    const absl::Span<const float> output = outputs_.row(i);
    for (size_t k = 0; k < own.size(); ++k) others[k] = double{output[k]} - own[k];
    if (kind_ != MapMatrix::kAttnNorm) {
      const absl::Span<const float> input = step_.input.row(i);
      for (size_t k = 0; k < own.size(); ++k) own[k] += double{input[k]};
    }
    transform_.Apply(absl::MakeSpan(own));
    transform_.Apply(absl::MakeSpan(others));
    const double own_norm = Norm(own);
    const double others_norm = Norm(others);
    const double both = own_norm + others_norm;
    map_.norms.view().at(i, i) = static_cast<float>(own_norm / deviations_[row]);
    map_.mixing_ratio[row] = both > 0 ? others_norm / both : 0;
  }

  const MapMatrix kind_;
  const AttentionStep& step_;
  const absl::Span<const Matrix> weights_;
  const int64_t heads_;
  const int64_t seq_;
  const VectorTransform transform_;
  HeadVectors vectors_;
  Matrix key_weights_;  // [heads, seq]: every row's weights on the key at hand
  Matrix outputs_;      // [seq, hidden]: W_O mixed
  std::vector<double> deviations_;
  NormMap map_;
};

}  // namespace

absl::StatusOr<Matrix> ValueNorms(const AttentionStep& step, int64_t heads) {
  const int64_t seq = step.input.rows;
  Matrix norms(heads, seq);
  HeadVectors vectors(step, heads);
  ATTUNE_RETURN_IF_ERROR(vectors.Init());
  for (int64_t begin = 0; begin < seq; begin += kKeyBlock) {
    const int64_t end = std::min(begin + kKeyBlock, seq);
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
