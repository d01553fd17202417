#include "engine/text/text_encoder.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;

TextPipeline Pipeline() {
  AddedToken token;
  token.content = "<x>";
  token.id = 9;
  const Normalizer normalizer({});
  return {*AddedVocabulary::Create({token}, normalizer), normalizer,
          PreTokenizer(PreTokenizerKind::kBert),
          WordPiece({{"a", 1}, {"##b", 2}, {".", 3}}, WordPieceOptions())};
}

TEST(TextEncoderTest, NumbersWordsAndMarksAddedTokens) {
  TextEncodeOptions options;
  options.details = true;
  const TextTokens tokens = EncodeText(Pipeline(), "ab<x>.", options);
  EXPECT_THAT(tokens.ids, ElementsAre(1, 2, 9, 3));
  EXPECT_THAT(tokens.word_ids, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(tokens.added, ElementsAre(false, false, true, false));
  EXPECT_EQ(tokens.counted, 4);
}

TEST(TextEncoderTest, StopsOneWordAfterTheLimit) {
  TextEncodeOptions options;
  options.limit = 3;
  const TextTokens tokens = EncodeText(Pipeline(), "ab ab ab ab ab", options);
  EXPECT_EQ(tokens.counted, 4);      // the word that reached the limit is whole
  EXPECT_EQ(tokens.ids.size(), 6u);  // and one more says that there was more
}

TEST(TextEncoderTest, AddedTokensNeverReachTheLimit) {
  TextEncodeOptions options;
  options.limit = 1;
  EXPECT_EQ(EncodeText(Pipeline(), "<x><x><x>a.", options).counted, 4);
}

TEST(TextEncoderTest, CountsEverythingWhenTheLimitIsNotReached) {
  TextEncodeOptions options;
  options.limit = 9;
  const TextTokens tokens = EncodeText(Pipeline(), "ab .", options);
  EXPECT_EQ(tokens.counted, 3);
  EXPECT_EQ(tokens.ids.size(), 3u);
}

// Blocks must not show: a text longer than many of them gives what its words give alone.
TEST(TextEncoderTest, LongTextsGiveTheTokensOfTheirWords) {
  std::string text;
  std::vector<int32_t> expected;
  for (int i = 0; i < 5000; ++i) {
    text += i % 3 == 0 ? "ab " : i % 3 == 1 ? "a." : "<x>";
    const std::vector<int32_t> ids = i % 3 == 0   ? std::vector<int32_t>{1, 2}
                                     : i % 3 == 1 ? std::vector<int32_t>{1, 3}
                                                  : std::vector<int32_t>{9};
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(EncodeText(Pipeline(), text, {}).ids, expected);
}

}  // namespace
}  // namespace attune
