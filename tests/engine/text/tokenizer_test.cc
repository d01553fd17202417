#include "engine/text/tokenizer.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/text/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/text/toy_tokenizer.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ToyBert;
using testing::ToyBertJson;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TokenizeOptions WithLimit(int64_t max_tokens, TruncationSide side = TruncationSide::kRight) {
  TokenizeOptions options;
  options.max_tokens = max_tokens;
  options.truncation_side = side;
  return options;
}

// A random text of words, marks, specials, spaces and characters that normalise to several.
std::string RandomText(std::mt19937& random, size_t fragments) {
  static const std::vector<std::string> kFragments = {
      "a",      "bc",     "DEF",           " ",      "  ",         "\n",     ".",     "!?",
      "\u00e9", "\uac01", "e\u0301\u0323", "\u4e2d", "\U0001f642", "[MASK]", "[SEP]", "[sep]",
      "\u200b", "\u3000", "\u302e\u0316",  "xyz "};
  std::string text;
  for (size_t i = 0; i < fragments; ++i) text += kFragments[random() % kFragments.size()];
  return text;
}

TEST(TokenizerTest, FramesATextAndAPair) {
  const auto tokenizer = ToyBert();
  EXPECT_THAT(tokenizer->Encode("ab", {})->ids, ElementsAre(2, 5, 32, 3));
  const Encoding pair = *tokenizer->EncodePair("a", "b", {});
  EXPECT_THAT(pair.ids, ElementsAre(2, 5, 3, 6, 3));
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(pair.original_tokens, 5);
  EXPECT_FALSE(pair.truncated);
}

TEST(TokenizerTest, WithoutSpecialTokensTypesStay) {
  TokenizeOptions options;
  options.add_special_tokens = false;
  const Encoding pair = *ToyBert()->EncodePair("a", "b", options);
  EXPECT_THAT(pair.ids, ElementsAre(5, 6));
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 1));
}

TEST(TokenizerTest, RangesSayWhereEachTokenCameFrom) {
  TokenizeOptions options;
  options.offsets = true;
  const Encoding encoding = *ToyBert()->EncodePair("\u00e9a [MASK]", "\u4e2d b", options);
  EXPECT_THAT(encoding.ids, ElementsAre(2, 9, 31, 4, 3, 1, 6, 3));
  EXPECT_THAT(encoding.byte_ranges,
              ElementsAre(TextRange{0, 0}, TextRange{0, 2}, TextRange{2, 3}, TextRange{4, 10},
                          TextRange{0, 0}, TextRange{0, 3}, TextRange{4, 5}, TextRange{0, 0}));
  EXPECT_THAT(encoding.code_point_ranges,
              ElementsAre(TextRange{0, 0}, TextRange{0, 1}, TextRange{1, 2}, TextRange{3, 9},
                          TextRange{0, 0}, TextRange{0, 1}, TextRange{2, 3}, TextRange{0, 0}));
  EXPECT_THAT(encoding.word_ids, ElementsAre(-1, 0, 0, 1, -1, 0, 1, -1));
  EXPECT_THAT(encoding.special, ElementsAre(true, false, false, false, true, false, false, true));
}

TEST(TokenizerTest, C56RefusesInvalidUtf8WithThePlace) {
  const auto tokenizer = ToyBert();
  EXPECT_THAT(tokenizer->Encode("a\xED\xA0\x80", {}),
              StatusIs(kInvalid, HasSubstr("invalid UTF-8 at byte 1")));
  EXPECT_THAT(tokenizer->EncodePair("a", "ab\xFF", {}),
              StatusIs(kInvalid, HasSubstr("invalid UTF-8 at byte 2")));
}

TEST(TokenizerTest, C21RefusesALimitBelowTheSpecialTokens) {
  const auto tokenizer = ToyBert();
  EXPECT_THAT(tokenizer->Encode("a", WithLimit(1)),
              StatusIs(kInvalid, AllOf(HasSubstr("max_tokens is 1"), HasSubstr("are 2"))));
  EXPECT_THAT(tokenizer->EncodePair("a", "b", WithLimit(2)),
              StatusIs(kInvalid, AllOf(HasSubstr("max_tokens is 2"), HasSubstr("are 3"))));
  EXPECT_THAT(tokenizer->Encode("a", WithLimit(-1)), StatusIs(kInvalid, HasSubstr("-1")));
  EXPECT_THAT(tokenizer->Encode("a", WithLimit(2))->ids, ElementsAre(2, 3));
}

TEST(TokenizerTest, C24ExactlyAtTheLimitIsNotTruncated) {
  const auto tokenizer = ToyBert();
  EXPECT_FALSE(tokenizer->Encode("a b c", WithLimit(5))->truncated);
  const Encoding cut = *tokenizer->Encode("a b c d", WithLimit(5));
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.original_tokens, 6);
  EXPECT_THAT(cut.ids, ElementsAre(2, 5, 6, 7, 3));
  EXPECT_THAT(tokenizer->Encode("a b c d", WithLimit(5, TruncationSide::kLeft))->ids,
              ElementsAre(2, 6, 7, 8, 3));
  // Without specials, too, a text that goes on after the limit is told from one that ends there.
  TokenizeOptions bare = WithLimit(2);
  bare.add_special_tokens = false;
  EXPECT_FALSE(tokenizer->Encode("a b", bare)->truncated);
  EXPECT_TRUE(tokenizer->Encode("a b c", bare)->truncated);
}

TEST(TokenizerTest, TruncatedIsACutOfTheWhole) {
  const auto tokenizer = ToyBert();
  std::mt19937 random(11);
  TokenizeOptions whole_options;
  whole_options.offsets = true;
  for (int i = 0; i < 500; ++i) {
    const std::string text = RandomText(random, random() % 1500);
    const Encoding whole = *tokenizer->Encode(text, whole_options);
    const auto limit = static_cast<int64_t>(2 + random() % 40);
    for (const auto side : {TruncationSide::kRight, TruncationSide::kLeft}) {
      TokenizeOptions options = WithLimit(limit, side);
      options.offsets = true;
      const Encoding cut = *tokenizer->Encode(text, options);
      ASSERT_EQ(cut.size(), std::min(limit, whole.size()));
      ASSERT_EQ(cut.truncated, whole.size() > limit);
      const size_t kept = cut.ids.size() - 2;
      const size_t from = side == TruncationSide::kRight ? 1 : whole.ids.size() - 1 - kept;
      for (size_t t = 0; t < kept; ++t) {
        ASSERT_EQ(cut.ids[1 + t], whole.ids[from + t]);
        ASSERT_EQ(cut.byte_ranges[1 + t], whole.byte_ranges[from + t]);
        ASSERT_EQ(cut.code_point_ranges[1 + t], whole.code_point_ranges[from + t]);
        ASSERT_EQ(cut.word_ids[1 + t], whole.word_ids[from + t]);
      }
    }
  }
}

TEST(TokenizerTest, RangesAreInOrderAndOnCharacterBorders) {
  const auto tokenizer = ToyBert();
  std::mt19937 random(12);
  TokenizeOptions options;
  options.offsets = true;
  options.add_special_tokens = false;
  for (int i = 0; i < 500; ++i) {
    const std::string text = RandomText(random, random() % 100);
    const Encoding encoding = *tokenizer->Encode(text, options);
    int64_t last_begin = 0;
    for (size_t t = 0; t < encoding.ids.size(); ++t) {
      const TextRange bytes = encoding.byte_ranges[t];
      const TextRange chars = encoding.code_point_ranges[t];
      ASSERT_LE(last_begin, bytes.begin);
      ASSERT_LT(bytes.begin, bytes.end);
      ASSERT_LE(bytes.end, static_cast<int64_t>(text.size()));
      const auto begin = static_cast<size_t>(bytes.begin);
      const auto length = static_cast<size_t>(bytes.end - bytes.begin);
      const absl::string_view before = absl::string_view(text).substr(0, begin);
      const absl::string_view inside = absl::string_view(text).substr(begin, length);
      ASSERT_EQ(FindInvalidUtf8(before), absl::string_view::npos);
      ASSERT_EQ(FindInvalidUtf8(inside), absl::string_view::npos);
      ASSERT_EQ(chars.begin, CountCodePoints(before));
      ASSERT_EQ(chars.end - chars.begin, CountCodePoints(inside));
      last_begin = bytes.begin;
    }
  }
}

TEST(TokenizerTest, OffsetsDoNotChangeTheTokens) {
  const auto tokenizer = ToyBert();
  std::mt19937 random(13);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(random, random() % 200);
    TokenizeOptions with;
    with.offsets = true;
    ASSERT_EQ(tokenizer->Encode(text, {})->ids, tokenizer->Encode(text, with)->ids);
  }
}

TEST(TokenizerTest, ThreadsGetWhatASingleOneGets) {
  const auto tokenizer = ToyBert();
  std::mt19937 random(14);
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(RandomText(random, random() % 60));
    expected.push_back(tokenizer->Encode(texts.back(), {})->ids);
  }
  std::vector<std::thread> threads;
  std::vector<int> differences(4, 0);
  for (size_t t = 0; t < differences.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < texts.size(); ++i) {
        const size_t n = t % 2 == 0 ? i : texts.size() - 1 - i;
        if (tokenizer->Encode(texts[n], {})->ids != expected[n]) ++differences[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(differences, ElementsAre(0, 0, 0, 0));
}

TEST(TokenizerTest, LowerCaseFirstRunsBeforeTheNormalizer) {
  Json json = ToyBertJson();
  json["normalizer"]["lowercase"] = false;
  TokenizerFiles files;
  files.tokenizer_json = DumpJson(json);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto cased, Tokenizer::Create(files));
  EXPECT_THAT(cased->Encode("A", {})->ids, ElementsAre(2, 1, 3));
  files.lower_case_first = true;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto lowered, Tokenizer::Create(files));
  EXPECT_THAT(lowered->Encode("A", {})->ids, ElementsAre(2, 5, 3));
}

TEST(TokenizerTest, TellsItsVocabulary) {
  const auto tokenizer = ToyBert();
  EXPECT_EQ(tokenizer->TokenText(31), "##a");
  EXPECT_EQ(tokenizer->TokenText(3), "[SEP]");
  EXPECT_EQ(tokenizer->TokenText(57), "");
  EXPECT_EQ(tokenizer->TokenText(-1), "");
  EXPECT_EQ(tokenizer->id_limit(), 57);
  EXPECT_EQ(tokenizer->vocab_size(), 57);
  EXPECT_EQ(tokenizer->special_tokens_per_text(), 2);
  EXPECT_EQ(tokenizer->mask_token_id(), 4);
}

// Processor time, so that what else the machine does is not counted.
double Seconds(const Tokenizer& tokenizer, const std::string& text,
               const TokenizeOptions& options) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    EXPECT_TRUE(tokenizer.Encode(text, options).ok());
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

// Sixteen times the text costs sixteen times as much in linear time, 256 times in quadratic time.
// The limit leaves room for larger texts missing caches and touching fresh memory.
TEST(TokenizerTest, C51TimeIsLinearInUnbrokenText) {
  const auto tokenizer = ToyBert();
  constexpr size_t kLongBytes = size_t{1} << 20;
  constexpr double kMaxRatio = 64;
  constexpr double kFloorSeconds = 0.0005;  // shorter times are mostly noise
  for (const std::string unit : {"a", ".", "\u4e2d", " ", "_", "\u0301", "\u00e9", "[", "[SEP]"}) {
    const auto repeat = [&unit](size_t bytes) {
      std::string text;
      while (text.size() < bytes) text += unit;
      return text;
    };
    for (const bool offsets : {false, true}) {
      TokenizeOptions options;
      options.offsets = offsets;
      const double one = Seconds(*tokenizer, repeat(kLongBytes / 16), options);
      const double sixteen = Seconds(*tokenizer, repeat(kLongBytes), options);
      EXPECT_LE(sixteen, kMaxRatio * std::max(one, kFloorSeconds)) << unit;
    }
  }
}

TEST(TokenizerTest, C51UnbrokenTextGivesTheReferencesCounts) {
  const auto tokenizer = ToyBert();
  constexpr size_t kLength = 100'000;
  EXPECT_EQ(tokenizer->Encode(std::string(kLength, 'a'), {})->size(), 3);  // one unknown word
  EXPECT_EQ(tokenizer->Encode(std::string(kLength, ' '), {})->size(), 2);
  EXPECT_EQ(tokenizer->Encode(std::string(kLength, '.'), {})->size(), 2 + 100'000);
}

}  // namespace
}  // namespace attune
