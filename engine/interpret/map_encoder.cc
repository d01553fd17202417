#include "engine/interpret/map_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engine/base/field_error.h"
#include "engine/base/not_finite_error.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/finite.h"
#include "engine/tensor/half.h"

namespace attune {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they lie in memory");

constexpr float kLargestF16 = 65504;

template <typename Value>
void AppendBytes(absl::Span<const Value> values, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

template <typename Value>
void AppendBytes(Value value, std::string& bytes) {
  AppendBytes(absl::Span<const Value>(&value, 1), bytes);
}

absl::Status AppendF16(absl::Span<const float> row, std::string& bytes) {
  for (const float value : row) {
    // What rounds to 65,504 fits; its upper neighbour would be 65,536.
    if (std::abs(value) >= kLargestF16 + 16) {
      return FieldError("query.encoding", " F16 holds values up to ", kLargestF16,
                        ", but the map has ", value, "; ask for F32");
    }
    AppendBytes(F32ToF16(value), bytes);
  }
  return absl::OkStatus();
}

// value = byte * scale; the error is at most half a step, the largest value / 510.
void AppendU8(absl::Span<const float> row, MapBytes& bytes) {
  constexpr double kSteps = 255;
  double largest = 0;
  for (const float value : row) largest = std::max(largest, double{value});
  AppendBytes(static_cast<float>(largest / kSteps), bytes.row_scales);
  const double per_value = largest > 0 ? kSteps / largest : 0;
  for (const float value : row) {
    bytes.data.push_back(static_cast<char>(std::lround(double{value} * per_value)));
  }
}

// How many of the values, which descend, a rule keeps.
size_t CountKept(const MapSparsity& sparsity, absl::Span<const float> descending, double row_sum) {
  const size_t all = descending.size();
  if (sparsity.top_k > 0) return std::min(all, static_cast<size_t>(sparsity.top_k));
  const size_t most = sparsity.max_k > 0 ? std::min(all, static_cast<size_t>(sparsity.max_k)) : all;
  const double wanted = double{sparsity.mass} * row_sum;
  double sum = 0;
  size_t count = 0;
  while (count < most && sum < wanted) sum += double{descending[count++]};
  return count;
}

}  // namespace

absl::Status MapEncoder::Append(ConstMatrixView map, absl::Span<const float> kept_mass) {
  for (int64_t i = 0; i < map.rows; ++i) {
    const absl::Span<const float> row = map.row(i);
    if (!AllFinite(row)) return NotFiniteError("a map holds a value that is not finite");
    double share = 1;
    if (sparsity_.has_value()) {
      ATTUNE_RETURN_IF_ERROR(AppendSparseRow(row, share));
    } else {
      ATTUNE_RETURN_IF_ERROR(AppendRow(row));
    }
    if (kept_mass.empty()) continue;
    AppendBytes(static_cast<float>(share * double{kept_mass[static_cast<size_t>(i)]}),
                bytes_.kept_mass);
  }
  return absl::OkStatus();
}

absl::Status MapEncoder::AppendRow(absl::Span<const float> row) {
  switch (encoding_) {
    case MapEncoding::kF32:
      AppendBytes(row, bytes_.data);
      break;
    case MapEncoding::kF16:
      return AppendF16(row, bytes_.data);
    case MapEncoding::kU8:
      AppendU8(row, bytes_);
      break;
  }
  return absl::OkStatus();
}

absl::Status MapEncoder::AppendSparseRow(absl::Span<const float> row, double& share) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto before = [row](size_t a, size_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  };
  std::sort(order.begin(), order.end(), before);
  std::vector<float> values(row.size());
  std::transform(order.begin(), order.end(), values.begin(), [row](size_t i) { return row[i]; });

  const double row_sum = std::accumulate(values.begin(), values.end(), 0.0);
  values.resize(CountKept(*sparsity_, values, row_sum));
  AppendBytes(static_cast<uint16_t>(values.size()), bytes_.row_lengths);
  for (size_t i = 0; i < values.size(); ++i) {
    AppendBytes(static_cast<uint16_t>(order[i]), bytes_.columns);
  }
  share = row_sum > 0 ? std::accumulate(values.begin(), values.end(), 0.0) / row_sum : 0;
  return AppendRow(values);
}

}  // namespace attune
