#include "client/cli/similarity.h"

#include <cmath>
#include <cstddef>

namespace attune::cli {
namespace {

double Dot(absl::Span<const float> a, absl::Span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

}  // namespace

double Norm(absl::Span<const float> vector) { return std::sqrt(Dot(vector, vector)); }

std::vector<double> CosineMatrix(absl::Span<const std::vector<float>> vectors) {
  const size_t n = vectors.size();
  std::vector<double> norms;
  norms.reserve(n);
  for (const auto& vector : vectors) norms.push_back(Norm(vector));
  std::vector<double> cosines(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const double scale = norms[i] * norms[j];
      const double cosine = scale > 0 ? Dot(vectors[i], vectors[j]) / scale : 0;
      cosines[i * n + j] = cosine;
      cosines[j * n + i] = cosine;
    }
  }
  return cosines;
}

}  // namespace attune::cli
