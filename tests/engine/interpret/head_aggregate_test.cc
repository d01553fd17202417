#include "engine/interpret/head_aggregate.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::IsEmpty;

std::vector<LayerHeadSummary> Text(double self_mass, double entropy) {
  std::vector<LayerHeadSummary> text(2);
  text[1].layer = 3;
  text[1].head = 1;
  text[1].summary.self_mass = self_mass;
  text[1].summary.entropy = entropy;
  return text;
}

TEST(HeadAggregateTest, EachTextCountsOnce) {
  HeadAggregate aggregate;
  EXPECT_THAT(aggregate.Mean(), IsEmpty());
  aggregate.Add(Text(0.5, 2));
  aggregate.Add(Text(0.25, 1));
  aggregate.Add(Text(0, 3));
  EXPECT_EQ(aggregate.texts(), 3);
  const std::vector<LayerHeadSummary> mean = aggregate.Mean();
  ASSERT_EQ(mean.size(), 2u);
  EXPECT_EQ(mean[1].layer, 3);
  EXPECT_EQ(mean[1].head, 1);
  EXPECT_DOUBLE_EQ(mean[1].summary.self_mass, 0.25);
  EXPECT_DOUBLE_EQ(mean[1].summary.entropy, 2);
  EXPECT_DOUBLE_EQ(mean[0].summary.entropy, 0);
}

TEST(HeadAggregateTest, TheLabelIsThatOfTheMean) {
  HeadAggregate aggregate;
  std::vector<LayerHeadSummary> text(1);
  text[0].summary.next_mass = 0.9;
  aggregate.Add(text);
  EXPECT_EQ(aggregate.Mean()[0].summary.label(), HeadLabel::kNext);
  text[0].summary.next_mass = 0;
  aggregate.Add(text);
  EXPECT_EQ(aggregate.Mean()[0].summary.label(), HeadLabel::kNone);
}

}  // namespace
}  // namespace attune
