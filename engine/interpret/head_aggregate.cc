#include "engine/interpret/head_aggregate.h"

#include "engine/base/check.h"

namespace attune {
namespace {

constexpr double HeadSummary::*kStatistics[] = {
    &HeadSummary::self_mass,
    &HeadSummary::previous_mass,
    &HeadSummary::next_mass,
    &HeadSummary::first_mass,
    &HeadSummary::cls_mass,
    &HeadSummary::separator_mass,
    &HeadSummary::punctuation_mass,
    &HeadSummary::separator_to_separator,
    &HeadSummary::rest_to_separator,
    &HeadSummary::entropy,
    &HeadSummary::entropy_normalized,
    &HeadSummary::support,
    &HeadSummary::first_entropy,
    &HeadSummary::distance,
    &HeadSummary::offset,
    &HeadSummary::confidence,
    &HeadSummary::previous_share,
    &HeadSummary::next_share,
    &HeadSummary::locality,
    &HeadSummary::symmetry,
};
static_assert(sizeof(HeadSummary) == sizeof(kStatistics) / sizeof(kStatistics[0]) * sizeof(double),
              "every statistic is aggregated");

}  // namespace

void HeadAggregate::Add(absl::Span<const LayerHeadSummary> text) {
  if (texts_ == 0) {
    sums_.assign(text.begin(), text.end());
  } else {
    ATTUNE_CHECK(text.size() == sums_.size());
    for (size_t i = 0; i < sums_.size(); ++i) {
      ATTUNE_CHECK(text[i].layer == sums_[i].layer && text[i].head == sums_[i].head);
      for (const auto statistic : kStatistics) {
        sums_[i].summary.*statistic += text[i].summary.*statistic;
      }
    }
  }
  ++texts_;
}

std::vector<LayerHeadSummary> HeadAggregate::Mean() const {
  std::vector<LayerHeadSummary> mean = sums_;
  for (LayerHeadSummary& head : mean) {
    for (const auto statistic : kStatistics) head.summary.*statistic /= static_cast<double>(texts_);
  }
  return mean;
}

}  // namespace attune
