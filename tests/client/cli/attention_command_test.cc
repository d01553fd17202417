// `attune attention` as a user runs it, against a scripted server.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "tests/client/attention_parts.h"
#include "tests/client/cli/program_fixture.h"

namespace attune {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::FakeEncoder;
using ::attune::testing::kError;
using ::attune::testing::kOk;
using ::attune::testing::kUsage;
using ::attune::testing::ProgramResult;
using ::attune::testing::ProgramTest;
using ::attune::testing::StreamParts;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

void SetData(const std::vector<float>& values, v1::AttentionMapResponse& map) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  map.set_data(bytes);
}

// Layer 1 of a model: tokens "[CLS]" and an escape; head 0 attends only to itself.
v1::AttentionMapResponse TwoTokenMap(uint64_t heads) {
  v1::AttentionMapResponse map = CountingMap(1, heads, 2, 2);
  map.set_layers(0, 1);
  map.add_tokens()->set_text("[CLS]");
  v1::Token* token = map.add_tokens();
  token->set_text("\x1b[31m");
  token->set_id(7);
  token->set_byte_end(5);
  token->set_code_point_end(5);
  for (const uint32_t unit : {0u, 1u}) {
    map.add_queries(unit);
    map.add_keys(unit);
  }
  std::vector<float> values = {1, 0, 0, 1, 0.5f, 0.5f, 0.5f, 0.5f};
  values.resize(heads * 4);
  SetData(values, map);
  map.mutable_provenance()->set_model("fake");
  return map;
}

class AttentionCommandTest : public ProgramTest {
 protected:
  // The server streams this, and answers AttentionMap with it.
  void Serve(const v1::AttentionMapResponse& map) {
    server_.encoder().attention_stream = [this, map](const v1::AttentionQuery& query,
                                                     FakeEncoder::StreamWriter& writer) {
      seen_ = query;
      for (const auto& part : StreamParts(map, 1)) writer.Write(part);
      return grpc::Status::OK;
    };
    server_.encoder().attention = [this, map](const v1::AttentionMapRequest& request,
                                              v1::AttentionMapResponse& response) {
      seen_ = request.query();
      response = map;
      return grpc::Status::OK;
    };
  }

  v1::AttentionQuery seen_;
};

TEST_F(AttentionCommandTest, DrawsTheMeanOfTheLastLayersHeads) {
  v1::AttentionMapResponse map = TwoTokenMap(1);
  map.add_heads(1);
  SetData({0.75f, 0.25f, 0.25f, 0.75f}, map);
  Serve(map);
  const ProgramResult result = Attune({"attention", "some text"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(seen_.layers(), ElementsAre(-1));
  EXPECT_EQ(seen_.head_reduction(), v1::ATTENTION_REDUCTION_MEAN);
  EXPECT_EQ(seen_.truncation(), v1::TRUNCATION_RIGHT);
  EXPECT_THAT(result.out, AllOf(StartsWith("layer 1, mean of heads 0, 1: row attends to column"),
                                HasSubstr("[CLS]  ██░░  0.75 [CLS]"), Not(HasSubstr("\x1b"))));
}

TEST_F(AttentionCommandTest, DrawsTheHeadsThatAreAskedFor) {
  Serve(TwoTokenMap(2));
  const ProgramResult result =
      Attune({"attention", "--layer", "1", "--head", "0", "--head", "-1", "t"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(seen_.heads(), ElementsAre(0, -1));
  EXPECT_EQ(seen_.head_reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED);
  EXPECT_THAT(result.out, AllOf(HasSubstr("layer 1, head 0"), HasSubstr("layer 1, head 1"),
                                HasSubstr("[CLS]  ██    1.00 [CLS]")));
}

TEST_F(AttentionCommandTest, ColorsOnATerminalUnlessToldNotTo) {
  Serve(TwoTokenMap(2));
  const std::vector<std::string> arguments = {"attention", "t"};
  const std::string term = "TERM=xterm-256color";
  EXPECT_THAT(Attune(arguments, {.environment = {term, "NO_COLOR="}, .on_terminal = true}).out,
              HasSubstr("\x1b[48;5;"));
  EXPECT_THAT(Attune(arguments, {.environment = {term, "NO_COLOR=1"}, .on_terminal = true}).out,
              Not(HasSubstr("\x1b")));
}

TEST_F(AttentionCommandTest, PassesEveryOption) {
  Serve(TwoTokenMap(1));
  const ProgramResult result = Attune({"attention",
                                       "--json",
                                       "--pair",
                                       "a",
                                       "b",
                                       "--layer",
                                       "0,2:4",
                                       "-l",
                                       "-1",
                                       "--head",
                                       ":3",
                                       "--matrix",
                                       "res-ln-norm",
                                       "--head-reduction",
                                       "l2",
                                       "--level",
                                       "word",
                                       "--span",
                                       "0:1",
                                       "--specials",
                                       "renormalise",
                                       "--specials-axes",
                                       "keys",
                                       "--block",
                                       "ab",
                                       "--queries",
                                       "1:3",
                                       "--keys",
                                       "2",
                                       "--pooled-queries",
                                       "--mass",
                                       "0.5",
                                       "--max-k",
                                       "3",
                                       "--pool",
                                       "16",
                                       "--pool-reduction",
                                       "mean",
                                       "--encoding",
                                       "u8",
                                       "--max-bytes",
                                       "5000",
                                       "--ablate",
                                       "2/5",
                                       "--ablate",
                                       "-1=uniform",
                                       "--mask-tokens",
                                       "3,4",
                                       "--erasure",
                                       "mask",
                                       "--statistics",
                                       "--mixing-ratio",
                                       "--want-embedding",
                                       "--truncate",
                                       "left",
                                       "--max-tokens",
                                       "9",
                                       "--specials-as-text",
                                       "--layer-reduction",
                                       "mean"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  v1::AttentionQuery expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "text_pair { first: 'a' second: 'b' } layers: [0, -1] layer_ranges { begin: 2 end: 4 } "
      "head_ranges { begin: 0 end: 3 } matrix: ATTENTION_MATRIX_RES_LN_NORM "
      "head_reduction: ATTENTION_REDUCTION_L2 layer_reduction: ATTENTION_REDUCTION_MEAN "
      "level: ATTENTION_LEVEL_WORD spans { begin: 0 end: 1 } "
      "specials: ATTENTION_SPECIALS_RENORMALISE specials_axes: ATTENTION_AXES_KEYS "
      "block: ATTENTION_BLOCK_AB query_range { begin: 1 end: 3 } key_range { begin: 2 end: 3 } "
      "pooled_queries: true sparsity { mass: 0.5 max_k: 3 } "
      "pool { size: 16 reduction: ATTENTION_REDUCTION_MEAN } encoding: ATTENTION_ENCODING_U8 "
      "max_bytes: 5000 ablate { layer: 2 head: 5 mode: MODE_ZERO } "
      "ablate { layer: -1 mode: MODE_UNIFORM } mask_tokens: [3, 4] erasure: TOKEN_ERASURE_MASK "
      "statistics: true mixing_ratio: true want_embedding: true truncation: TRUNCATION_LEFT "
      "max_tokens: 9 specials_as_text: true",
      &expected));
  EXPECT_EQ(seen_.DebugString(), expected.DebugString());
}

TEST_F(AttentionCommandTest, PassesTokenIdsAndMasks) {
  Serve(TwoTokenMap(1));
  ASSERT_EQ(Attune({"attention", "--token-ids", "101 7592 102", "--window", "2:1"}).exit_code, kOk);
  EXPECT_THAT(seen_.token_ids().values(), ElementsAre(101, 7592, 102));
  EXPECT_EQ(seen_.mask().window().left(), 2u);
  EXPECT_EQ(seen_.mask().window().right(), 1u);
  const ProgramResult causal = Attune({"attention", "--token-ids", "101", "--causal", "--json"});
  EXPECT_TRUE(seen_.mask().has_causal());
  EXPECT_EQ(Json::parse(causal.out)["token_ids"], Json::parse("[101]"));
}

TEST_F(AttentionCommandTest, StreamsUnlessTheAnswerNeedsEveryLayerAtOnce) {
  Serve(TwoTokenMap(1));
  const struct {
    std::vector<std::string> more;
    bool streams;
  } cases[] = {{{}, true},
               {{"--statistics"}, true},
               {{"--layer-reduction", "mean"}, false},
               {{"--erasure", "remove"}, false},
               {{"--ablate", "0/0"}, false},
               {{"--mask-tokens", "1"}, false},
               {{"--causal"}, false},
               {{"--max-bytes", "100000"}, false},
               {{"--ablate", "0/0", "--stream"}, true}};
  for (const auto& c : cases) {
    const size_t before = server_.encoder().CountCalls("StreamAttentionMap");
    std::vector<std::string> arguments = {"attention", "t", "--json"};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const ProgramResult result = Attune(arguments);
    EXPECT_EQ(result.exit_code, kOk) << result.err;
    EXPECT_EQ(server_.encoder().CountCalls("StreamAttentionMap") - before, c.streams ? 1u : 0u)
        << ::testing::PrintToString(c.more);
  }
}

TEST_F(AttentionCommandTest, JsonHasEveryNumber) {
  v1::AttentionMapResponse map = CountingMap(2, 2, 2, 2);
  map.add_tokens()->set_text("[CLS]");
  map.add_tokens()->set_text("\x1b[31m");
  map.mutable_tokens(1)->set_byte_end(5);
  for (const uint32_t unit : {0u, 1u}) {
    map.add_queries(unit);
    map.add_keys(unit);
  }
  map.mutable_provenance()->set_model("fake");
  v1::HeadSummary* head = map.add_statistics();
  head->set_entropy(0.1f);
  head->set_label(v1::HEAD_LABEL_NEXT);
  map.set_mixing_ratio(map.data().substr(0, 4 * sizeof(float)));
  Serve(map);
  const ProgramResult result = Attune({"attention", "t", "--format", "json"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(seen_.layers(), IsEmpty());
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["text"], "t");
  EXPECT_EQ(json["matrix"], "weights");
  EXPECT_EQ(json["layers"], Json::parse("[0, 1]"));
  EXPECT_EQ(json["heads"], Json::parse("[0, 1]"));
  EXPECT_EQ(json["shape"], Json::parse("[2, 2, 2, 2]"));
  EXPECT_EQ(json["tokens"][1]["text"], "\x1b[31m");
  EXPECT_EQ(json["tokens"][1]["bytes"], Json::parse("[0, 5]"));
  EXPECT_EQ(json["values"][1], Json::parse("[[[8, 9], [10, 11]], [[12, 13], [14, 15]]]"));
  EXPECT_EQ(json["statistics"][0]["entropy"], 0.1);
  EXPECT_EQ(json["statistics"][0]["label"], "next");
  EXPECT_EQ(json["mixing_ratio"], Json::parse("[[0, 1], [2, 3]]"));
  EXPECT_EQ(json["provenance"]["model"], "fake");
  EXPECT_FALSE(json.contains("kept_mass"));
  EXPECT_FALSE(json.contains("embedding"));
}

TEST_F(AttentionCommandTest, JsonHasWhatIsMeasuredBesidesTheMap) {
  v1::AttentionMapResponse map = TwoTokenMap(1);
  map.set_kept_mass(std::string("\0\0\x80\x3f\0\0\0\x3f", 8));  // 1, 0.5
  map.add_embedding(0.25f);
  map.add_erasure(0);
  map.add_erasure(0.5f);
  map.mutable_movement()->set_cosine_distance(0.125);
  map.mutable_movement()->add_baseline(0.75f);
  Serve(map);
  const ProgramResult result =
      Attune({"attention", "t", "--json", "--ablate", "0", "--erasure", "remove"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["kept_mass"], Json::parse("[[[1, 0.5]]]"));
  EXPECT_EQ(json["embedding"], Json::parse("[0.25]"));
  EXPECT_EQ(json["erasure"], Json::parse("[0, 0.5]"));
  EXPECT_EQ(json["movement"]["cosine_distance"], 0.125);
  EXPECT_EQ(json["baseline_embedding"], Json::parse("[0.75]"));
}

TEST_F(AttentionCommandTest, NpyIsTheMapAlone) {
  Serve(CountingMap(2, 1, 2, 3));
  const std::string path = folder_.Path("maps.npy");
  const ProgramResult result = Attune({"attention", "t", "--npy", "--output", path});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const std::string bytes = Content(path);
  ASSERT_EQ(bytes.size(), 128 + 12 * sizeof(float));
  EXPECT_THAT(bytes, HasSubstr("'shape': (2, 1, 2, 3)"));
  EXPECT_EQ(bytes.substr(128), CountingMap(2, 1, 2, 3).data());
  EXPECT_EQ(Attune({"attention", "t", "--npy"}).out, bytes);
}

TEST_F(AttentionCommandTest, ShowsWhatComesBesidesTheMap) {
  v1::AttentionMapResponse map = TwoTokenMap(1);
  map.set_kept_mass(std::string("\0\0\x80\x3f\0\0\0\x3f", 8));
  map.set_mixing_ratio(std::string("\0\0\x80\x3f\0\0\0\x3f", 8));
  map.add_embedding(0.25f);
  map.add_erasure(0);
  map.add_erasure(0.5f);
  map.mutable_tokens(0)->set_special(true);
  map.mutable_movement()->set_cosine_distance(0.125);
  map.add_statistics()->set_self_mass(0.375f);
  Serve(map);
  const ProgramResult result = Attune({"attention", "t", "--ablate", "0"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("On average 75 % of a row's mass is shown."),
                    HasSubstr("statistics of heads\nlayer  head  self"), HasSubstr("0.38"),
                    HasSubstr("token       layer 1\n[CLS]         1.000\n"),
                    HasSubstr("1 - cosine  token\n    0.5000  \\u{1b}[31m\n"),
                    HasSubstr("the embedding moved: 1 - cosine 0.125"),
                    HasSubstr("embedding  [1 x 1]\n  0.25\n")));
}

TEST_F(AttentionCommandTest, RefusesMapsThatDoNotFitTheirTokens) {
  v1::AttentionMapResponse map = TwoTokenMap(2);
  map.mutable_tokens()->RemoveLast();
  Serve(map);
  const ProgramResult result = Attune({"attention", "t"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("2 columns for 1 tokens"));
}

TEST_F(AttentionCommandTest, AStreamThatBreaksOffLeavesNoFile) {
  server_.encoder().attention_stream = [](const v1::AttentionQuery&,
                                          FakeEncoder::StreamWriter& writer) {
    const auto parts = StreamParts(CountingMap(2, 1, 2, 2), 2);
    writer.Write(parts[0]);
    writer.Write(parts[1]);
    return grpc::Status::OK;
  };
  const std::string path = File("maps.npy", "old");
  const ProgramResult result = Attune({"attention", "t", "--npy", "-o", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("without its trailer"));
  EXPECT_EQ(Content(path), "old");
}

TEST_F(AttentionCommandTest, AnErrorOfTheServerNamesTheFlag) {
  server_.encoder().attention_stream = [](const v1::AttentionQuery&, FakeEncoder::StreamWriter&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "query.layers[0] is 9; from -6 to 5");
  };
  const ProgramResult result = Attune({"attention", "t", "--layer", "9"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, StartsWith("attune: --layer[0] is 9; from -6 to 5 (INVALID_ARGUMENT)"));
}

TEST_F(AttentionCommandTest, WrongUsageNamesTheFlagTheValueAndWhatWouldDo) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{}, "text is required"},
      {{"a", "b"}, "2 texts given; --pair lets"},
      {{"--pair", "a"}, "--pair takes two texts; 1 given"},
      {{"a", "--layer", "two"}, "--layer: \"two\" is not numbers and ranges such as 3"},
      {{"a", "--head", "1:2:3"}, "\"1:2:3\" is not"},
      {{"a", "--matrix", "weight"}, "weight not in {weights,raw-scores"},
      {{"a", "--queries", "3:3"}, "\"3:3\" is not a range such as 4:6"},
      {{"a", "--top-k", "0"}, "--top-k: \"0\" is not a number above 0"},
      {{"a", "--top-k", "2", "--mass", "0.5"}, "excludes"},
      {{"a", "--mass", "1.5"}, "--mass: \"1.5\" is not a number above 0 and up to 1"},
      {{"a", "--max-k", "2"}, "--max-k requires --mass"},
      {{"a", "--pool-reduction", "max"}, "requires --pool"},
      {{"a", "--ablate", "x/1"}, "\"x/1\" is not a head such as 2/5"},
      {{"a", "--ablate", "1/1=off"}, "=zero or =uniform"},
      {{"a", "--mask-tokens", "-1"}, "\"-1\" is not numbers from 0"},
      {{"a", "--causal", "--window", "1:1"}, "excludes"},
      {{"a", "--window", "1"}, "\"1\" is not a window such as 2:1"},
      {{"101 x", "--token-ids"}, "--token-ids: "},
      {{"a", "--json", "--npy"}, "excludes"},
      {{"a", "--json", "--format", "npy"}, "excludes"},
      {{"a", "--npy", "--matrix", "none"}, "--matrix none has no map to write as npy"},
      {{"a", "--npy", "--statistics"}, "use --format json"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"attention"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const ProgramResult result = Attune(arguments);
    EXPECT_EQ(result.exit_code, kUsage) << c.message << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.message));
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_EQ(server_.encoder().CountCalls("StreamAttentionMap"), 0u);
}

TEST_F(AttentionCommandTest, HelpShowsEveryGroupOfOptions) {
  EXPECT_THAT(Attune({"attention", "--help"}).out,
              AllOf(HasSubstr("Layers and heads:"), HasSubstr("Map:"), HasSubstr("Size:"),
                    HasSubstr("What if:"), HasSubstr("Further answers:"), HasSubstr("Output:"),
                    HasSubstr("hidden-similarity")));
}

}  // namespace
}  // namespace attune
