// vocab.txt with tokenizer_config.json, through Tokenizer::Create.
#include <string>

#include "engine/text/tokenizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr char kVocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n\u4e2d\nA\n\u00e0\n";

absl::StatusOr<std::unique_ptr<const Tokenizer>> Create(std::string vocab, std::string config) {
  TokenizerFiles files;
  files.vocab_txt = std::move(vocab);
  files.tokenizer_config_json = std::move(config);
  return Tokenizer::Create(files);
}

std::vector<int32_t> Ids(const std::string& config, absl::string_view text) {
  const auto tokenizer = Create(kVocab, config);
  EXPECT_THAT(tokenizer, IsOk());
  if (!tokenizer.ok()) return {};
  return (*tokenizer)->Encode(text, {})->ids;
}

TEST(VocabTxtTest, WithoutConfigIsUncasedBert) {
  EXPECT_THAT(Ids("", "AB \u00c0\u4e2d [MASK] x"), ElementsAre(2, 5, 6, 5, 7, 4, 1, 3));
}

TEST(VocabTxtTest, ConfigDrivesTheNormalizer) {
  EXPECT_THAT(Ids(R"({"do_lower_case": false})", "A \u00e0"), ElementsAre(2, 8, 9, 3));
  EXPECT_THAT(Ids(R"({"do_lower_case": false, "strip_accents": true})", "\u00e0"),
              ElementsAre(2, 5, 3));
  EXPECT_THAT(Ids(R"({"strip_accents": false})", "\u00e0"), ElementsAre(2, 9, 3));
  EXPECT_THAT(Ids(R"({"tokenize_chinese_chars": false})", "a\u4e2d"), ElementsAre(2, 1, 3));
}

TEST(VocabTxtTest, ConfigNamesTheSpecialTokens) {
  const std::string config =
      R"({"cls_token": "a", "sep_token": {"content": "A"}, "mask_token": "\u4e2d"})";
  const auto tokenizer = Create(kVocab, config);
  ASSERT_THAT(tokenizer, IsOk());
  EXPECT_THAT((*tokenizer)->Encode("x", {})->ids, ElementsAre(5, 1, 8));
  EXPECT_EQ((*tokenizer)->mask_token_id(), 7);
}

TEST(VocabTxtTest, LinesEndAtWhiteSpaceAndTheLastOfEqualOnesCounts) {
  const auto tokenizer = Create("[UNK]\r\n[CLS] \n[SEP]\t\na\nb\na", "");
  ASSERT_THAT(tokenizer, IsOk());
  EXPECT_THAT((*tokenizer)->Encode("a b", {})->ids, ElementsAre(1, 5, 4, 2));
  EXPECT_EQ((*tokenizer)->vocab_size(), 5);
  EXPECT_EQ((*tokenizer)->id_limit(), 6);
  EXPECT_EQ((*tokenizer)->mask_token_id(), -1);
}

TEST(VocabTxtTest, RefusesWhatItCannotHonour) {
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto kUnimplemented = absl::StatusCode::kUnimplemented;
  EXPECT_THAT(Create("[UNK]\n[CLS]\n", ""),
              StatusIs(kInvalid, HasSubstr("sep_token: \"[SEP]\" is not in vocab.txt")));
  EXPECT_THAT(Create("", ""), StatusIs(kInvalid, HasSubstr("\"[UNK]\" is not in vocab.txt")));
  EXPECT_THAT(Create("a\n\xFF\n", ""), StatusIs(kInvalid, HasSubstr("invalid UTF-8 at byte 2")));
  EXPECT_THAT(Create(kVocab, "{"), StatusIs(kInvalid, HasSubstr("not valid JSON")));
  EXPECT_THAT(Create(kVocab, "[]"),
              StatusIs(kInvalid, HasSubstr("tokenizer_config.json: must be an object")));
  EXPECT_THAT(Create(kVocab, R"({"tokenizer_class": "MPNetTokenizer"})"),
              StatusIs(kUnimplemented, HasSubstr("MPNetTokenizer")));
  EXPECT_THAT(Create(kVocab, R"({"do_basic_tokenize": false})"),
              StatusIs(kUnimplemented, HasSubstr("do_basic_tokenize")));
}

}  // namespace
}  // namespace attune
