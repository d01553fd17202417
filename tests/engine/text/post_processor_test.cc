#include "engine/text/post_processor.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

using Kind = TemplatePiece::Kind;

TEST(PostProcessorTest, NoneAddsNothingAndGivesTheSecondTextTypeOne) {
  const PostProcessor none = PostProcessor::None();
  EXPECT_EQ(none.single.special_tokens(), 0);
  EXPECT_EQ(none.pair.special_tokens(), 0);
  ASSERT_EQ(none.pair.pieces.size(), 2u);
  EXPECT_EQ(none.pair.pieces[1].kind, Kind::kSecondText);
  EXPECT_EQ(none.pair.pieces[1].type_id, 1);
}

TEST(PostProcessorTest, BertFramesEachText) {
  const PostProcessor bert = PostProcessor::Bert(/*cls_id=*/7, /*sep_id=*/8);
  EXPECT_EQ(bert.single.special_tokens(), 2);
  EXPECT_EQ(bert.pair.special_tokens(), 3);
  EXPECT_EQ(bert.single.pieces.front().ids, std::vector<int32_t>{7});
  EXPECT_EQ(bert.pair.pieces.back().ids, std::vector<int32_t>{8});
  EXPECT_EQ(bert.pair.pieces.back().type_id, 1);
}

TEST(PostProcessorTest, CountsEveryTokenOfASpecial) {
  Template layout;
  layout.pieces = {{Kind::kSpecial, 0, {1, 2, 3}}, {Kind::kFirstText, 0, {}}};
  EXPECT_EQ(layout.special_tokens(), 3);
}

}  // namespace
}  // namespace attune
