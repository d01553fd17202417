#include "engine/interpret/rollout.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/interpret/matrix_product.h"

namespace attune {

Matrix WithResidual(ConstMatrixView weights) {
  Matrix mixed(weights.rows, weights.cols);
  for (int64_t i = 0; i < weights.rows; ++i) {
    const absl::Span<float> row = mixed.row(i);
    std::transform(weights.row(i).begin(), weights.row(i).end(), row.begin(),
                   [](float weight) { return 0.5f * weight; });
    row[static_cast<size_t>(i)] += 0.5f;
  }
  return mixed;
}

void Rollout::AddLayer(ConstMatrixView mean_weights) {
  if (mean_weights.rows == 0) return;
  Matrix layer = WithResidual(mean_weights);
  if (product_.rows() == 0) {
    product_ = std::move(layer);
    return;
  }
  Matrix product(layer.rows(), layer.cols());
  Multiply(layer.view(), product_.view(), 1, product.view());
  product_ = std::move(product);
}

}  // namespace attune
