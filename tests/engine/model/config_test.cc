#include "engine/model/config.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// all-MiniLM-L6-v2's configuration.
Json GoodConfig() {
  return {{"model_type", "bert"},
          {"vocab_size", 30522},
          {"hidden_size", 384},
          {"num_hidden_layers", 6},
          {"num_attention_heads", 12},
          {"intermediate_size", 1536},
          {"max_position_embeddings", 512},
          {"type_vocab_size", 2},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", 1e-12},
          {"position_embedding_type", "absolute"}};
}

// The good configuration with `key` set to the JSON text `value`; an empty text removes the key.
absl::StatusOr<ModelConfig> ParseWith(const std::string& key, const std::string& value) {
  Json config = GoodConfig();
  config.erase(key);
  std::string text = DumpJson(config);
  if (!value.empty()) text = absl::StrCat("{\"", key, "\":", value, ",", text.substr(1));
  return ParseModelConfig(text);
}

TEST(ConfigTest, ReadsABertConfiguration) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(DumpJson(GoodConfig())));
  EXPECT_EQ(config.model_type, "bert");
  EXPECT_EQ(config.vocab, 30522);
  EXPECT_EQ(config.hidden, 384);
  EXPECT_EQ(config.layers, 6);
  EXPECT_EQ(config.heads, 12);
  EXPECT_EQ(config.head_dim(), 32);
  EXPECT_EQ(config.ffn, 1536);
  EXPECT_EQ(config.max_positions, 512);
  EXPECT_EQ(config.type_vocab, 2);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-12f);
  EXPECT_EQ(config.activation, Activation::kGelu);
}

TEST(ConfigTest, RefusesEverySizeThatIsNotAPositiveIntegerWithinBounds) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "max_position_embeddings", "type_vocab_size"}) {
    for (const char* value :
         {"0", "-1", "2147483648", "18446744073709551615", "18446744073709551616", "12.0", "1.5",
          "\"12\"", "true", "[12]", "{}", "-9223372036854775808", "1e3"}) {
      EXPECT_THAT(ParseWith(key, value),
                  StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("\"", key, "\" is ")),
                                           HasSubstr("must be an integer from 1 to"))))
          << value;
    }
    for (const char* value : {"", "null"}) {
      EXPECT_THAT(ParseWith(key, value),
                  StatusIs(kInvalid, HasSubstr(absl::StrCat("\"", key, "\" is missing"))));
    }
  }
}

TEST(ConfigTest, BoundsAreInclusive) {
  EXPECT_TRUE(ParseWith("num_hidden_layers", "256").ok());
  EXPECT_THAT(ParseWith("num_hidden_layers", "257"),
              StatusIs(kInvalid, HasSubstr("\"num_hidden_layers\" is 257; it must be an integer "
                                           "from 1 to 256")));
  EXPECT_TRUE(ParseWith("hidden_size", "16368").ok());  // the last multiple of 12 heads
  EXPECT_THAT(ParseWith("hidden_size", "16392"), StatusIs(kInvalid, HasSubstr("1 to 16384")));
}

TEST(ConfigTest, RefusesHeadsThatDoNotDivideTheHiddenSize) {
  EXPECT_THAT(ParseWith("num_attention_heads", "7"),
              StatusIs(kInvalid, HasSubstr("\"hidden_size\" is 384, not a multiple of the 7 of "
                                           "\"num_attention_heads\"")));
}

TEST(ConfigTest, C33ActivationComesFromTheConfig) {
  const std::pair<const char*, Activation> names[] = {
      {"\"gelu\"", Activation::kGelu},
      {"\"gelu_new\"", Activation::kGeluTanh},
      {"\"gelu_pytorch_tanh\"", Activation::kGeluTanh},
      {"\"relu\"", Activation::kRelu},
      {"\"silu\"", Activation::kSilu}};
  for (const auto& [name, activation] : names) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseWith("hidden_act", name));
    EXPECT_EQ(config.activation, activation) << name;
  }
  EXPECT_THAT(ParseWith("hidden_act", "\"gelu_fast_9\""),
              StatusIs(kUnimplemented, AllOf(HasSubstr("hidden_act"), HasSubstr("gelu_fast_9"))));
  EXPECT_THAT(ParseWith("hidden_act", "3"),
              StatusIs(kInvalid, HasSubstr("\"hidden_act\" is 3; it must be a string")));
}

TEST(ConfigTest, C34LayerNormEpsilonComesFromTheConfig) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelConfig coarse, ParseWith("layer_norm_eps", "1e-5"));
  EXPECT_EQ(coarse.layer_norm_epsilon, 1e-5f);
  // Where the key is missing, BertConfig's own default holds, not PyTorch's 1e-5.
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelConfig missing, ParseWith("layer_norm_eps", ""));
  EXPECT_EQ(missing.layer_norm_epsilon, 1e-12f);
}

TEST(ConfigTest, C34RefusesAnEpsilonThatIsNoSmallPositiveNumber) {
  for (const char* value : {"0", "0.0", "-1e-12", "1e-60", "1.5", "1e300", "\"1e-12\"", "true"}) {
    EXPECT_THAT(ParseWith("layer_norm_eps", value),
                StatusIs(kInvalid, AllOf(HasSubstr("\"layer_norm_eps\" is "),
                                         HasSubstr("must be a number above 0, at most 1"))))
        << value;
  }
  for (const char* value : {"NaN", "Infinity", "1e400"}) {
    EXPECT_THAT(ParseWith("layer_norm_eps", value), StatusIs(kInvalid, HasSubstr("not valid JSON")))
        << value;
  }
}

TEST(ConfigTest, RefusesOtherModelFamiliesByName) {
  for (const char* family : {"roberta", "distilbert", "mpnet", "modernbert", "BERT"}) {
    EXPECT_THAT(
        ParseWith("model_type", absl::StrCat("\"", family, "\"")),
        StatusIs(kUnimplemented, HasSubstr(absl::StrCat("\"model_type\" is \"", family, "\""))));
  }
  EXPECT_THAT(ParseWith("model_type", ""),
              StatusIs(kInvalid, HasSubstr("\"model_type\" is missing")));
}

TEST(ConfigTest, RefusesPositionTypesThatWouldChangeTheAttention) {
  for (const char* type : {"relative_key", "relative_key_query", "alibi", "rotary"}) {
    EXPECT_THAT(ParseWith("position_embedding_type", absl::StrCat("\"", type, "\"")),
                StatusIs(kUnimplemented,
                         HasSubstr(absl::StrCat("\"position_embedding_type\" is \"", type))));
  }
  EXPECT_TRUE(ParseWith("position_embedding_type", "").ok());
}

TEST(ConfigTest, RefusesADecoder) {
  EXPECT_THAT(ParseWith("is_decoder", "true"), StatusIs(kUnimplemented, HasSubstr("is_decoder")));
  EXPECT_THAT(ParseWith("add_cross_attention", "true"),
              StatusIs(kUnimplemented, HasSubstr("add_cross_attention")));
  EXPECT_TRUE(ParseWith("is_decoder", "false").ok());
}

TEST(ConfigTest, RefusesADuplicateKeyAndTextThatIsNoObject) {
  EXPECT_THAT(ParseModelConfig(R"({"hidden_size": 384, "hidden_size": 768})"),
              StatusIs(kInvalid, HasSubstr("duplicate key \"hidden_size\"")));
  for (const char* text : {"[]", "null", "3", "\"bert\""}) {
    EXPECT_THAT(ParseModelConfig(text), StatusIs(kInvalid, HasSubstr("not a JSON object")));
  }
  EXPECT_THAT(ParseModelConfig(""), StatusIs(kInvalid, HasSubstr("not valid JSON")));
}

}  // namespace
}  // namespace attune
