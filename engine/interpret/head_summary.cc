#include "engine/interpret/head_summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

// -sum A' ln A' of a row. `terms` is scratch as long as the row.
double SmoothedEntropy(absl::Span<const float> row, absl::Span<float> terms) {
  const float floor = kEntropySmoothing / static_cast<float>(row.size());
  for (size_t j = 0; j < row.size(); ++j) {
    const float weight = (1 - kEntropySmoothing) * row[j] + floor;
    terms[j] = weight * Log(weight);
  }
  double sum = 0;
  for (const float term : terms) sum -= double{term};
  return sum;
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

// The largest value of a row without the column `skipped`, -1 for none.
double LargestBut(absl::Span<const float> row, int64_t skipped) {
  float largest = 0;
  const auto end = static_cast<int64_t>(row.size());
  const int64_t middle = skipped < 0 ? end : skipped;
  for (int64_t j = 0; j < middle; ++j) largest = std::max(largest, row[static_cast<size_t>(j)]);
  for (int64_t j = middle + 1; j < end; ++j)
    largest = std::max(largest, row[static_cast<size_t>(j)]);
  return double{largest};
}

// Adds what row i says about places relative to itself.
void AddPlaces(absl::Span<const float> row, int64_t i, HeadSummary& sums) {
  const auto seq = static_cast<int64_t>(row.size());
  double distance = 0;
  double offset = 0;
  for (int64_t j = 0; j < seq; ++j) {
    const double weight = row[static_cast<size_t>(j)];
    const auto step = static_cast<double>(j - i);
    distance += weight * std::abs(step);
    offset += weight * step;
  }
  sums.distance += distance;
  sums.offset += offset;
  sums.self_mass += double{row[static_cast<size_t>(i)]};
  if (i > 0) sums.previous_mass += double{row[static_cast<size_t>(i - 1)]};
  if (i + 1 < seq) sums.next_mass += double{row[static_cast<size_t>(i + 1)]};
  for (int64_t j = std::max<int64_t>(0, i - kLocalTokens); j <= std::min(seq - 1, i + kLocalTokens);
       ++j) {
    sums.locality += double{row[static_cast<size_t>(j)]};
  }
  const int64_t largest = std::max_element(row.begin(), row.end()) - row.begin();
  if (largest == i - 1) ++sums.previous_share;
  if (largest == i + 1) ++sums.next_share;
}

double Asymmetry(ConstMatrixView weights) {
  double sum = 0;
  for (int64_t i = 0; i < weights.rows; ++i) {
    for (int64_t j = i + 1; j < weights.cols; ++j) {
      sum += 2 * std::abs(double{weights.at(i, j)} - double{weights.at(j, i)});
    }
  }
  return sum;
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
    sums.first_mass += double{row[0]};
    sums.punctuation_mass += SumOver(row, punctuation);
    const double to_separators = SumOver(row, separators);
    (roles.separator[static_cast<size_t>(i)] ? sums.separator_to_separator
                                             : sums.rest_to_separator) += to_separators;
    const double entropy = SmoothedEntropy(row, absl::MakeSpan(terms));
    if (i == 0) sums.first_entropy = entropy;
    sums.entropy += entropy;
    sums.confidence += LargestBut(row, last_separator);
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
