#include "engine/interpret/head_summary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/check.h"

namespace attune {
namespace {

constexpr double kBroadNats = 3.8;
constexpr double kBroadTokens = 128;
constexpr double kFocusedConfidence = 0.8;
constexpr double kNeighbourThreshold = 0.5;
constexpr double kTokenThreshold = 0.6;
constexpr float kEntropySmoothing = 1e-4f;
constexpr int64_t kLocalTokens = 2;

// ln x for normal x > 0, relative error about 1e-7. Without branches and calls, so that a loop of
// it is vectorised; a library logarithm would cost more than all other statistics together.
inline float Log(float x) {
  // x = 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)).
  constexpr uint32_t kSqrtHalfBits = 0x3f3504f3;
  const uint32_t bits = std::bit_cast<uint32_t>(x) - kSqrtHalfBits;
  const auto exponent = static_cast<float>(static_cast<int32_t>(bits) >> 23);
  const auto mantissa = std::bit_cast<float>((bits & 0x007fffffu) + kSqrtHalfBits);
  // ln m = 2 atanh((m - 1) / (m + 1)), |argument| < 0.1716: four terms leave 1e-8.
  const float t = (mantissa - 1) / (mantissa + 1);
  const float t2 = t * t;
  const float series = 2 * t * (1 + t2 * (1.0f / 3 + t2 * (1.0f / 5 + t2 * (1.0f / 7))));
  return exponent * 0.693147181f + series;
}

// term(0) + ... + term(count - 1), in running parts that fit vector registers: one alone would wait
// for each addition before the next, and a compiler may not regroup sums by itself. Terms read
// through plain pointers, because a check of each index would keep these loops from being vectors.
template <typename Term>
double Sum(int32_t count, Term term) {
  constexpr int32_t kParts = 8;
  std::array<double, kParts> parts = {};
  const int32_t whole = count - count % kParts;
  for (int32_t j = 0; j < whole; j += kParts) {
    for (int32_t k = 0; k < kParts; ++k) parts[static_cast<size_t>(k)] += term(j + k);
  }
  for (int32_t j = whole; j < count; ++j) parts[0] += term(j);
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// The largest value, at least 0.
float Largest(absl::Span<const float> values) {
  constexpr size_t kParts = 8;
  std::array<float, kParts> parts = {};
  const float* const value = values.data();
  const size_t whole = values.size() - values.size() % kParts;
  for (size_t j = 0; j < whole; j += kParts) {
    for (size_t k = 0; k < kParts; ++k) parts[k] = std::max(parts[k], value[j + k]);
  }
  for (size_t j = whole; j < values.size(); ++j) parts[0] = std::max(parts[0], value[j]);
  return *std::max_element(parts.begin(), parts.end());
}

// -sum A' ln A' of a row. `terms` is scratch as long as the row.
double SmoothedEntropy(absl::Span<const float> row, absl::Span<float> terms) {
  const auto count = static_cast<int32_t>(row.size());
  const float floor = kEntropySmoothing / static_cast<float>(count);
  const float* const weights = row.data();
  float* const term = terms.data();
  for (int32_t j = 0; j < count; ++j) {
    const float weight = (1 - kEntropySmoothing) * weights[j] + floor;
    term[j] = weight * Log(weight);
  }
  return -Sum(count, [term](int32_t j) { return double{term[j]}; });
}

double SumOver(absl::Span<const float> row, const std::vector<int64_t>& columns) {
  double sum = 0;
  for (const int64_t column : columns) sum += double{row[static_cast<size_t>(column)]};
  return sum;
}

std::vector<int64_t> IndicesOf(const std::vector<bool>& flags) {
  std::vector<int64_t> indices;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) indices.push_back(static_cast<int64_t>(i));
  }
  return indices;
}

// Whether column j has the row's largest value, and is the first that has it.
bool IsFirstLargest(absl::Span<const float> row, int64_t j, float largest) {
  if (j < 0 || j >= static_cast<int64_t>(row.size())) return false;
  const auto place = row.begin() + j;
  return *place == largest && std::find(row.begin(), place, largest) == place;
}

// Adds what row i's largest value says, with and without that of the column `skipped`, -1 for none.
void AddLargest(absl::Span<const float> row, int64_t i, int64_t skipped, HeadSummary& sums) {
  const size_t end = skipped < 0 ? row.size() : static_cast<size_t>(skipped);
  float largest = Largest(row.first(end));
  if (end < row.size()) largest = std::max(largest, Largest(row.subspan(end + 1)));
  sums.confidence += double{largest};
  if (end < row.size()) largest = std::max(largest, row[end]);
  if (IsFirstLargest(row, i - 1, largest)) ++sums.previous_share;
  if (IsFirstLargest(row, i + 1, largest)) ++sums.next_share;
}

// Adds what row i says about places relative to itself.
void AddPlaces(absl::Span<const float> row, int64_t i, HeadSummary& sums) {
  const auto seq = static_cast<int64_t>(row.size());
  const auto count = static_cast<int32_t>(seq);
  const float* const weights = row.data();
  const auto step = [i = static_cast<int32_t>(i)](int32_t j) { return static_cast<double>(j - i); };
  sums.distance += Sum(count, [=](int32_t j) { return double{weights[j]} * std::abs(step(j)); });
  sums.offset += Sum(count, [=](int32_t j) { return double{weights[j]} * step(j); });
  sums.self_mass += double{row[static_cast<size_t>(i)]};
  if (i > 0) sums.previous_mass += double{row[static_cast<size_t>(i - 1)]};
  if (i + 1 < seq) sums.next_mass += double{row[static_cast<size_t>(i + 1)]};
  for (int64_t j = std::max<int64_t>(0, i - kLocalTokens); j <= std::min(seq - 1, i + kLocalTokens);
       ++j) {
    sums.locality += double{row[static_cast<size_t>(j)]};
  }
}

double Asymmetry(ConstMatrixView weights) {
  double sum = 0;
  for (int64_t i = 0; i + 1 < weights.rows; ++i) {
    const int64_t stride = weights.stride;
    const float* const across = weights.data + i * stride + i + 1;
    const float* const down = weights.data + (i + 1) * stride + i;
    sum += Sum(static_cast<int32_t>(weights.cols - i - 1),
               [=](int32_t j) { return std::abs(double{across[j]} - double{down[j * stride]}); });
  }
  return 2 * sum;
}

double MeanOr0(double sum, size_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

bool HeadSummary::broad() const { return entropy_normalized > kBroadNats / std::log(kBroadTokens); }

bool HeadSummary::focused() const { return confidence > kFocusedConfidence; }

HeadLabel HeadSummary::label() const {
  if (punctuation_mass > kTokenThreshold) return HeadLabel::kPunctuation;
  if (separator_mass > kTokenThreshold) return HeadLabel::kSeparator;
  if (cls_mass > kTokenThreshold) return HeadLabel::kCls;
  if (broad()) return HeadLabel::kBroad;
  if (previous_mass > kNeighbourThreshold) return HeadLabel::kPrevious;
  if (next_mass > kNeighbourThreshold) return HeadLabel::kNext;
  return HeadLabel::kNone;
}

HeadSummary SummarizeHead(ConstMatrixView weights, const TokenRoles& roles) {
  const int64_t seq = weights.rows;
  ATTUNE_CHECK(seq >= 1 && weights.cols == seq);
  ATTUNE_CHECK(roles.separator.size() == static_cast<size_t>(seq));
  ATTUNE_CHECK(roles.punctuation.size() == static_cast<size_t>(seq));
  const std::vector<int64_t> separators = IndicesOf(roles.separator);
  const std::vector<int64_t> punctuation = IndicesOf(roles.punctuation);
  const int64_t last_separator = separators.empty() ? -1 : separators.back();
  std::vector<float> terms(static_cast<size_t>(seq));

  HeadSummary sums;
  for (int64_t i = 0; i < seq; ++i) {
    const absl::Span<const float> row = weights.row(i);
    AddPlaces(row, i, sums);
    AddLargest(row, i, last_separator, sums);
    sums.first_mass += double{row[0]};
    sums.punctuation_mass += SumOver(row, punctuation);
    const double to_separators = SumOver(row, separators);
    (roles.separator[static_cast<size_t>(i)] ? sums.separator_to_separator
                                             : sums.rest_to_separator) += to_separators;
    const double entropy = SmoothedEntropy(row, absl::MakeSpan(terms));
    if (i == 0) sums.first_entropy = entropy;
    sums.entropy += entropy;
  }

  sums.separator_mass = sums.separator_to_separator + sums.rest_to_separator;
  const auto count = static_cast<double>(seq);
  for (double* sum :
       {&sums.self_mass, &sums.previous_mass, &sums.next_mass, &sums.first_mass,
        &sums.separator_mass, &sums.punctuation_mass, &sums.entropy, &sums.distance, &sums.offset,
        &sums.confidence, &sums.previous_share, &sums.next_share, &sums.locality}) {
    *sum /= count;
  }
  sums.cls_mass = roles.first_is_special ? sums.first_mass : 0;
  sums.separator_to_separator = MeanOr0(sums.separator_to_separator, separators.size());
  sums.rest_to_separator =
      MeanOr0(sums.rest_to_separator, static_cast<size_t>(seq) - separators.size());
  sums.entropy_normalized = seq > 1 ? sums.entropy / std::log(count) : 0;
  sums.support = std::exp(sums.entropy);
  sums.symmetry = 1 - Asymmetry(weights) / (2 * count);
  return sums;
}

}  // namespace attune
