#include "engine/quality/compare_vectors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/check.h"
#include "engine/ops/pooling.h"
#include "engine/tensor/dot.h"

namespace attune {
namespace {

double Cosine(absl::Span<const float> a, absl::Span<const float> b) {
  const double squares = Dot(a, a) * Dot(b, b);
  if (squares == 0) return std::equal(a.begin(), a.end(), b.begin(), b.end()) ? 1 : 0;
  return Dot(a, b) / std::sqrt(squares);
}

double MaxDifference(absl::Span<const float> a, absl::Span<const float> b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  }
  return most;
}

// Rows of length 1, whose cosine is their dot product.
Matrix UnitRows(ConstMatrixView vectors) {
  Matrix unit(vectors.rows, vectors.cols);
  for (int64_t i = 0; i < vectors.rows; ++i) {
    std::copy_n(vectors.row(i).data(), vectors.cols, unit.row(i).data());
    NormalizeL2(unit.row(i));
  }
  return unit;
}

// The unit rows nearest to `row`, ascending by number. Of equally near ones the first.
std::vector<int64_t> Nearest(const Matrix& unit, int64_t row, int64_t count) {
  std::vector<double> cosines(static_cast<size_t>(unit.rows()));
  for (int64_t i = 0; i < unit.rows(); ++i) {
    cosines[static_cast<size_t>(i)] = Dot(unit.row(row), unit.row(i));
  }
  std::vector<int64_t> rows(cosines.size());
  std::iota(rows.begin(), rows.end(), 0);
  rows.erase(rows.begin() + row);
  const auto nearer = [&cosines](int64_t a, int64_t b) {
    const double cosine_a = cosines[static_cast<size_t>(a)];
    const double cosine_b = cosines[static_cast<size_t>(b)];
    return cosine_a != cosine_b ? cosine_a > cosine_b : a < b;
  };
  std::partial_sort(rows.begin(), rows.begin() + count, rows.end(), nearer);
  rows.resize(static_cast<size_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

double NeighbourOverlap(const Matrix& reference, const Matrix& candidate, int64_t row,
                        int64_t count) {
  const std::vector<int64_t> expected = Nearest(reference, row, count);
  const std::vector<int64_t> found = Nearest(candidate, row, count);
  std::vector<int64_t> both;
  std::set_intersection(expected.begin(), expected.end(), found.begin(), found.end(),
                        std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(count);
}

}  // namespace

Json FiguresToJson(const QualityFigures& figures) {
  return {{"texts", figures.texts},
          {"mean_cosine", figures.mean_cosine},
          {"min_cosine", figures.min_cosine},
          {"max_difference", figures.max_difference},
          {"neighbours", figures.neighbours},
          {"mean_overlap", figures.mean_overlap},
          {"worst_overlap", figures.worst_overlap}};
}

QualityFigures CompareVectors(ConstMatrixView reference, ConstMatrixView candidate) {
  ATTUNE_CHECK(reference.rows == candidate.rows && reference.cols == candidate.cols);
  ATTUNE_CHECK(reference.rows >= 2);
  const Matrix unit_reference = UnitRows(reference);
  const Matrix unit_candidate = UnitRows(candidate);
  QualityFigures figures;
  figures.texts = reference.rows;
  figures.neighbours = std::min(kComparedNeighbours, reference.rows - 1);
  figures.min_cosine = 1;
  figures.worst_overlap = 1;
  for (int64_t i = 0; i < reference.rows; ++i) {
    const double cosine = Cosine(reference.row(i), candidate.row(i));
    const double overlap = NeighbourOverlap(unit_reference, unit_candidate, i, figures.neighbours);
    figures.mean_cosine += cosine;
    figures.mean_overlap += overlap;
    figures.min_cosine = std::min(figures.min_cosine, cosine);
    figures.worst_overlap = std::min(figures.worst_overlap, overlap);
    figures.max_difference =
        std::max(figures.max_difference, MaxDifference(reference.row(i), candidate.row(i)));
  }
  figures.mean_cosine /= static_cast<double>(reference.rows);
  figures.mean_overlap /= static_cast<double>(reference.rows);
  return figures;
}

}  // namespace attune
