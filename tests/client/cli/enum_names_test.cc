#include "client/cli/enum_names.h"

#include "attune/v1/attune.pb.h"
#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::ElementsAre;

TEST(EnumNamesTest, AreShortAndInTheProtosOrder) {
  EXPECT_THAT(EnumNames<v1::AttentionSpecials>(), ElementsAre("keep", "drop", "renormalise"));
  EXPECT_THAT(EnumNames<v1::HeadAblation::Mode>(), ElementsAre("zero", "uniform"));
}

TEST(EnumNamesTest, EveryNameIsThatOfItsValue) {
  for (const std::string& name : EnumNames<v1::AttentionMatrix>()) {
    EXPECT_EQ(EnumName(EnumValue<v1::AttentionMatrix>(name)), name);
  }
  EXPECT_EQ(EnumValue<v1::AttentionMatrix>("res-ln-norm"), v1::ATTENTION_MATRIX_RES_LN_NORM);
}

TEST(EnumNamesTest, NamesWhatThisClientDoesNotKnowByItsNumber) {
  EXPECT_EQ(EnumName(static_cast<v1::AttentionMatrix>(99)), "99");
  EXPECT_EQ(EnumName(v1::ATTENTION_MATRIX_UNSPECIFIED), "unspecified");
}

}  // namespace
}  // namespace attune::cli
