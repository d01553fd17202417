#include "engine/interpret/map_rows.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace attune {
namespace {

// Below this a row has nothing left to divide by.
constexpr double kLeastRemainder = 1e-9;

// One row of the result at a time; the scratch is reused.
class RowSelector {
 public:
  RowSelector(const MapPlan& plan, ConstMatrixView map)
      : plan_(plan),
        map_(map),
        sums_(static_cast<size_t>(plan.text.seq)),
        token_row_(static_cast<size_t>(plan.text.seq)),
        unit_row_(plan.units.size()) {}

  // Fills dst and returns the row's kept mass.
  float Select(int64_t row, absl::Span<float> dst) {
    const absl::Span<const float> units = MergeColumns(TokenRow(row));
    double scale = 1;
    if (plan_.query.specials == MapSpecials::kRenormalise) {
      const double remainder = SumOver(units, plan_.unsliced_keys);
      scale = remainder < kLeastRemainder ? 0 : 1 / remainder;
    }
    double kept = 0;
    for (size_t column = 0; column < dst.size(); ++column) {
      const float value = units[static_cast<size_t>(plan_.keys[column])];
      dst[column] = scale == 1 ? value : static_cast<float>(double{value} * scale);
      kept += double{value};
    }
    if (!plan_.has_kept_mass() || scale == 0) return 0;
    double total = 0;
    for (const float value : units) total += double{value};
    return total > 0 ? static_cast<float>(kept / total) : 0;
  }

 private:
  static double SumOver(absl::Span<const float> values, const std::vector<int64_t>& columns) {
    double sum = 0;
    for (const int64_t column : columns) sum += double{values[static_cast<size_t>(column)]};
    return sum;
  }

  // The row [seq] of a unit, or of all tokens pooled.
  absl::Span<const float> TokenRow(int64_t row) {
    if (!plan_.pooled_weights.empty()) return MixRows({0, plan_.text.seq}, plan_.pooled_weights);
    const MapRange tokens =
        plan_.units[static_cast<size_t>(plan_.queries[static_cast<size_t>(row)])];
    if (tokens.size() == 1) return map_.row(tokens.begin);
    return MixRows(tokens, std::vector<double>(static_cast<size_t>(tokens.size()),
                                               1 / static_cast<double>(tokens.size())));
  }

  absl::Span<const float> MixRows(MapRange tokens, const std::vector<double>& shares) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (int64_t i = tokens.begin; i < tokens.end; ++i) {
      const double share = shares[static_cast<size_t>(i - tokens.begin)];
      if (share == 0) continue;
      const absl::Span<const float> row = map_.row(i);
      for (size_t j = 0; j < sums_.size(); ++j) sums_[j] += share * double{row[j]};
    }
    std::transform(sums_.begin(), sums_.end(), token_row_.begin(),
                   [](double sum) { return static_cast<float>(sum); });
    return token_row_;
  }

  absl::Span<const float> MergeColumns(absl::Span<const float> tokens) {
    if (plan_.units.size() == tokens.size()) return tokens;  // each unit a token
    for (size_t unit = 0; unit < unit_row_.size(); ++unit) {
      double sum = 0;
      const MapRange run = plan_.units[unit];
      for (int64_t j = run.begin; j < run.end; ++j) sum += double{tokens[static_cast<size_t>(j)]};
      unit_row_[unit] = static_cast<float>(sum);
    }
    return unit_row_;
  }

  const MapPlan& plan_;
  const ConstMatrixView map_;
  std::vector<double> sums_;
  std::vector<float> token_row_;
  std::vector<float> unit_row_;
};

float PoolCell(MapReduction reduction, ConstMatrixView part) {
  if (reduction == MapReduction::kMax) {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < part.rows; ++i) {
      largest = std::max(largest, *std::max_element(part.row(i).begin(), part.row(i).end()));
    }
    return largest;
  }
  double sum = 0;
  for (int64_t i = 0; i < part.rows; ++i) {
    for (const float value : part.row(i)) sum += double{value};
  }
  return static_cast<float>(sum / static_cast<double>(part.rows * part.cols));
}

}  // namespace

MapRows SelectMapRows(const MapPlan& plan, ConstMatrixView map) {
  MapRows rows{Matrix(plan.rows(), plan.columns()),
               std::vector<float>(static_cast<size_t>(plan.rows()))};
  RowSelector selector(plan, map);
  for (int64_t row = 0; row < plan.rows(); ++row) {
    rows.kept_mass[static_cast<size_t>(row)] = selector.Select(row, rows.values.row(row));
  }
  return rows;
}

Matrix PoolMap(const MapPool& pool, ConstMatrixView map) {
  Matrix pooled(std::min(map.rows, pool.size), std::min(map.cols, pool.size));
  const auto part = [](int64_t index, int64_t parts, int64_t size) {
    return MapRange{index * size / parts, (index + 1) * size / parts};
  };
  for (int64_t r = 0; r < pooled.rows(); ++r) {
    const MapRange rows = part(r, pooled.rows(), map.rows);
    for (int64_t c = 0; c < pooled.cols(); ++c) {
      const MapRange columns = part(c, pooled.cols(), map.cols);
      pooled.view().at(r, c) =
          PoolCell(pool.reduction, map.Rows(rows.begin, rows.end).Cols(columns.begin, columns.end));
    }
  }
  return pooled;
}

}  // namespace attune
