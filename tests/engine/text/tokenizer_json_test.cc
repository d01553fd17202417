// The reader of tokenizer.json, through Tokenizer::Create.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/text/toy_tokenizer.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::AllOf;
using testing::CreateToy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::ToyAddedToken;
using testing::ToyBertJson;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

std::vector<int32_t> Ids(const Json& json, const std::string& text) {
  const auto tokenizer = CreateToy(json);
  EXPECT_THAT(tokenizer, IsOk());
  if (!tokenizer.ok()) return {};
  return (*tokenizer)->Encode(text, {})->ids;
}

TEST(TokenizerJsonTest, RefusesWhatIsNotATokenizer) {
  TokenizerFiles files;
  files.tokenizer_json = "[]";
  EXPECT_THAT(Tokenizer::Create(files), StatusIs(kInvalid, HasSubstr("must be a JSON object")));
  files.tokenizer_json = "{\"model\":";
  EXPECT_THAT(Tokenizer::Create(files), StatusIs(kInvalid, HasSubstr("not valid JSON")));
  Json json = ToyBertJson();
  json["version"] = "2.0";
  EXPECT_THAT(CreateToy(json), StatusIs(kInvalid, HasSubstr("version: must be \"1.0\"")));
}

TEST(TokenizerJsonTest, NamesThePathOfAComponentThatIsNotBuilt) {
  Json json = ToyBertJson();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFKC"}}}}};
  EXPECT_THAT(
      CreateToy(json),
      StatusIs(kUnimplemented, HasSubstr("normalizer.normalizers[0]: normalizer \"NFKC\"")));
  json = ToyBertJson();
  json["pre_tokenizer"]["type"] = "ByteLevel";
  EXPECT_THAT(CreateToy(json), StatusIs(kUnimplemented, HasSubstr("pre_tokenizer: ")));
  json = ToyBertJson();
  json["post_processor"]["type"] = "RobertaProcessing";
  EXPECT_THAT(CreateToy(json), StatusIs(kUnimplemented, HasSubstr("post_processor: ")));
  json = ToyBertJson();
  json["model"]["type"] = "Unigram";
  EXPECT_THAT(CreateToy(json), StatusIs(kUnimplemented, HasSubstr("model: model \"Unigram\"")));
}

TEST(TokenizerJsonTest, AModelWithoutTypeIsKnownByItsFields) {
  Json json = ToyBertJson();
  json["model"].erase("type");
  EXPECT_THAT(Ids(json, "ab"), ElementsAre(2, 5, 32, 3));
  json["model"].erase("max_input_chars_per_word");
  EXPECT_THAT(CreateToy(json), StatusIs(kUnimplemented, HasSubstr("model: ")));
  json = ToyBertJson();
  json["model"].erase("type");
  json["model"]["merges"] = Json::array();
  EXPECT_THAT(CreateToy(json), StatusIs(kUnimplemented, HasSubstr("model: ")));
}

TEST(TokenizerJsonTest, NullComponentsDoNothing) {
  Json json = ToyBertJson();
  json["normalizer"] = json["pre_tokenizer"] = json["post_processor"] = nullptr;
  json["added_tokens"] = Json::array();
  EXPECT_THAT(Ids(json, "ab"), ElementsAre(5, 32));
  EXPECT_THAT(Ids(json, "A"), ElementsAre(1));
  EXPECT_THAT(Ids(json, "a b"), ElementsAre(1));
}

TEST(TokenizerJsonTest, RefusesIdsThatNoMatrixCanHave) {
  for (const Json& id : {Json(-1), Json(int64_t{1} << 31), Json(uint64_t{1} << 63), Json(1.5)}) {
    Json json = ToyBertJson();
    json["model"]["vocab"]["x"] = id;
    EXPECT_THAT(CreateToy(json),
                StatusIs(kInvalid, HasSubstr("model.vocab[\"x\"]: must be a whole number")));
  }
}

TEST(TokenizerJsonTest, RefusesAnUnknownTokenOutsideTheVocabulary) {
  Json json = ToyBertJson();
  json["model"]["unk_token"] = "[NONE]";
  EXPECT_THAT(CreateToy(json),
              StatusIs(kInvalid, HasSubstr("model.unk_token: \"[NONE]\" is not in model.vocab")));
}

TEST(TokenizerJsonTest, C43AddedTokensCountOnFromTheVocabulary) {
  Json json = ToyBertJson();
  const auto size = static_cast<int64_t>(json["model"]["vocab"].size());
  json["added_tokens"].push_back(ToyAddedToken("<a>", size));
  json["added_tokens"].push_back(ToyAddedToken("", 7));  // left out, as in the reference
  json["added_tokens"].push_back(ToyAddedToken("<b>", size + 1));
  json["added_tokens"].push_back(ToyAddedToken("<a>", size));
  EXPECT_THAT(Ids(json, "<a><b>"), ElementsAre(2, size, size + 1, 3));
  EXPECT_EQ((*CreateToy(json))->id_limit(), size + 2);
  EXPECT_EQ((*CreateToy(json))->vocab_size(), size + 2);
}

TEST(TokenizerJsonTest, C43RefusesAnAddedTokenWithAnotherIdThanItGets) {
  Json json = ToyBertJson();
  json["added_tokens"].push_back(ToyAddedToken("<mask>", 500));
  EXPECT_THAT(CreateToy(json),
              StatusIs(kInvalid, AllOf(HasSubstr("added_tokens[5]: token \"<mask>\""),
                                       HasSubstr("declares id 500, but its id is 57"))));
  json = ToyBertJson();
  json["added_tokens"][4]["id"] = 9;
  EXPECT_THAT(CreateToy(json), StatusIs(kInvalid, HasSubstr("its id is 4 in the model's")));
}

TEST(TokenizerJsonTest, C43IdsOfTheTemplateCountForTheLimit) {
  Json json = ToyBertJson();
  json["post_processor"]["sep"] = {"[SEP]", 900};
  EXPECT_EQ((*CreateToy(json))->id_limit(), 901);
}

TEST(TokenizerJsonTest, C23IgnoresTruncationAndPadding) {
  Json json = ToyBertJson();
  json["truncation"] = {{"max_length", 3}, {"strategy", "LongestFirst"}, {"stride", 0}};
  json["padding"] = {{"strategy", {{"Fixed", 16}}}, {"pad_id", 0}};
  json["decoder"] = {{"type", "WordPiece"}};
  EXPECT_THAT(Ids(json, "abc"), ElementsAre(2, 5, 32, 33, 3));
}

Json TemplateJson() {
  Json json = ToyBertJson();
  json["post_processor"] = *ParseJson(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<x>", "type_id": 2}}, {"Sequence": {"id": "A", "type_id": 1}}],
      "pair": [{"Sequence": {"id": "B", "type_id": 3}}, {"SpecialToken": {"id": "<x>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<x>": {"id": "<x>", "ids": [2, 4], "tokens": ["[CLS]", "[MASK]"]}}})");
  return json;
}

TEST(TokenizerJsonTest, TemplatesSayOrderTypesAndSpecialsOfSeveralTokens) {
  const auto tokenizer = *CreateToy(TemplateJson());
  EXPECT_EQ(tokenizer->special_tokens_per_text(), 2);
  const Encoding single = *tokenizer->Encode("a", {});
  EXPECT_THAT(single.ids, ElementsAre(2, 4, 5));
  EXPECT_THAT(single.type_ids, ElementsAre(2, 2, 1));
  const Encoding pair = *tokenizer->EncodePair("a", "b", {});
  EXPECT_THAT(pair.ids, ElementsAre(6, 2, 4, 5));
  EXPECT_THAT(pair.type_ids, ElementsAre(3, 0, 0, 0));
}

TEST(TokenizerJsonTest, RefusesTemplatesThatCannotBeFilled) {
  Json json = TemplateJson();
  json["post_processor"]["special_tokens"] = Json::object();
  EXPECT_THAT(CreateToy(json),
              StatusIs(kInvalid, HasSubstr("\"<x>\" is not in post_processor.special_tokens")));
  json = TemplateJson();
  json["post_processor"]["single"][1]["Sequence"]["id"] = "B";
  EXPECT_THAT(CreateToy(json), StatusIs(kInvalid, HasSubstr("must be \"A\"")));
  json = TemplateJson();
  json["post_processor"]["special_tokens"]["<x>"]["ids"][0] = -3;
  EXPECT_THAT(CreateToy(json), StatusIs(kInvalid, HasSubstr("ids[0]: must be a whole number")));
}

TEST(TokenizerJsonTest, SequencesOfNormalizersRunInOrder) {
  Json json = ToyBertJson();
  json["normalizer"] = *ParseJson(R"({"type": "Sequence", "normalizers":
      [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})");
  EXPECT_THAT(Ids(json, "\u00c0"), ElementsAre(2, 5, 3));
}

}  // namespace
}  // namespace attune
