// `attune attention`, `heads` and `export-html` against a real server.
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::AttentionServerTest;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunProgram;
using ::attune::testing::TempDir;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::ValuesOf;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr char kText[] = "the cats sat on a mat.";

class AttentionCommandLineTest : public AttentionServerTest {
 protected:
  AttentionCommandLineTest() : AttentionServerTest(3, 4) {}

  ProgramResult Attune(std::vector<std::string> arguments, const std::string& input = "") {
    return RunProgram(ATTUNE_PROGRAM, {.arguments = std::move(arguments),
                                       .standard_input = input,
                                       .environment = {"ATTUNE_SERVER=" + server_.address()}});
  }

  Json JsonOf(std::vector<std::string> arguments) {
    const ProgramResult result = Attune(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const absl::StatusOr<Json> json = ParseJson(result.out);
    EXPECT_TRUE(json.ok()) << result.out;
    return json.ok() ? *json : Json();
  }

  MapResult Map(const std::string& form) {
    MapResult result = MapAttention(server_, "text: '" + std::string(kText) + "' " + form);
    EXPECT_THAT(result.status, IsGrpcOk()) << form;
    return result;
  }
};

// The numbers in nested arrays, in order.
void Flatten(const Json& json, std::vector<float>& numbers) {
  if (!json.is_array()) return numbers.push_back(json.get<float>());
  for (const Json& part : json) Flatten(part, numbers);
}

std::vector<float> Numbers(const Json& json) {
  std::vector<float> numbers;
  Flatten(json, numbers);
  return numbers;
}

TEST_F(AttentionCommandLineTest, JsonHasTheServersNumbersWhicheverCallBringsThem) {
  const std::vector<float> expected = Map("").Data();
  const Json streamed = JsonOf({"attention", kText, "--json"});
  EXPECT_THAT(Numbers(streamed["values"]), ElementsAreArray(expected));
  const Json whole = JsonOf({"attention", kText, "--json", "--max-bytes", "1000000"});
  EXPECT_EQ(whole, streamed);
}

TEST_F(AttentionCommandLineTest, OptionsReachTheServer) {
  const struct {
    std::vector<std::string> arguments;
    std::string form;
  } cases[] = {
      {{"--layer", "1:", "--head", "0,-1"}, "layers: [1, 2] heads: [0, 3]"},
      {{"--matrix", "res-ln-norm", "--specials", "drop"},
       "matrix: ATTENTION_MATRIX_RES_LN_NORM specials: ATTENTION_SPECIALS_DROP"},
      {{"--level", "word", "--queries", "1:3", "--keys", "2"},
       "level: ATTENTION_LEVEL_WORD query_range { begin: 1 end: 3 } key_range { begin: 2 end: 3 }"},
      {{"--pooled-queries", "--head-reduction", "mean"},
       "pooled_queries: true head_reduction: ATTENTION_REDUCTION_MEAN"},
      {{"--layer-reduction", "mean"}, "layer_reduction: ATTENTION_REDUCTION_MEAN"},
      {{"--ablate", "0/1", "--ablate", "1=uniform", "--mask-tokens", "2"},
       "ablate { layer: 0 head: 1 } ablate { layer: 1 mode: MODE_UNIFORM } mask_tokens: 2"},
      {{"--window", "1:0"}, "mask { window { left: 1 } }"},
      {{"--matrix", "flow"}, "matrix: ATTENTION_MATRIX_FLOW"},
      {{"--matrix", "value-zeroing"}, "matrix: ATTENTION_MATRIX_VALUE_ZEROING"},
      {{"--ablate", "0/1", "--stream"}, "ablate { layer: 0 head: 1 }"},
      {{"--matrix", "rollout", "--pool", "3"}, "matrix: ATTENTION_MATRIX_ROLLOUT pool { size: 3 }"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"attention", kText, "--json"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Json json = JsonOf(arguments);
    EXPECT_THAT(Numbers(json["values"]), ElementsAreArray(Map(c.form).Data())) << c.form;
  }
}

TEST_F(AttentionCommandLineTest, FurtherAnswersAreTheServers) {
  const Json json = JsonOf({"attention", kText, "--json", "--matrix", "none", "--statistics",
                            "--mixing-ratio", "--want-embedding", "--erasure", "remove"});
  const MapResult expected =
      Map("matrix: ATTENTION_MATRIX_NONE statistics: true mixing_ratio: true want_embedding: true "
          "erasure: TOKEN_ERASURE_REMOVE");
  ASSERT_EQ(json["statistics"].size(), 12u);
  EXPECT_EQ(json["statistics"][7]["entropy"].get<float>(),
            expected.response.statistics(7).entropy());
  EXPECT_THAT(Numbers(json["mixing_ratio"]),
              ElementsAreArray(ValuesOf<float>(expected.response.mixing_ratio())));
  EXPECT_THAT(Numbers(json["embedding"]), ElementsAreArray(expected.response.embedding()));
  EXPECT_THAT(Numbers(json["erasure"]), ElementsAreArray(expected.response.erasure()));
}

TEST_F(AttentionCommandLineTest, EveryPictureIsDrawn) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{},
                                             {"--head", "0:2"},
                                             {"--matrix", "raw-scores"},
                                             {"--matrix", "hidden-similarity"},
                                             {"--level", "word", "--specials", "renormalise"},
                                             {"--top-k", "2", "--encoding", "u8"},
                                             {"--pool", "4"},
                                             {"--pooled-queries"},
                                             {"--matrix", "none", "--statistics", "--mixing-ratio"},
                                             {"--ablate", "0/0", "--want-embedding"}}) {
    std::vector<std::string> arguments = {"attention", kText};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = Attune(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(result.out.size(), 100u) << ::testing::PrintToString(more);
  }
  const ProgramResult mass =
      Attune({"attention", "--pair", "the cat", "a dog", "--block", "mass", "--layer", "0"});
  EXPECT_THAT(mass.out, HasSubstr("           A  "));
}

TEST_F(AttentionCommandLineTest, AMapOverTheReplyLimitComesAsAStream) {
  ServerOptions options = TestOptions(model_.path());
  options.max_attention_reply_bytes = 4000;
  TestServer small(options);
  const auto run = [&small](std::vector<std::string> arguments) {
    return RunProgram(ATTUNE_PROGRAM, {.arguments = std::move(arguments),
                                       .environment = {"ATTUNE_SERVER=" + small.address()}});
  };
  const ProgramResult streamed = run({"attention", kText, "--npy"});
  ASSERT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_EQ(streamed.out.substr(128), Map("").response.data());
  const ProgramResult refused = run({"attention", kText, "--npy", "--max-bytes", "4000"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("--max-bytes allows 4000"), HasSubstr("stream the map")));
}

TEST_F(AttentionCommandLineTest, HeadsOfManyTextsAreTheMeanOfTheirHeads) {
  const Json first = JsonOf({"heads", "the cat sat", "--json"});
  const Json second = JsonOf({"heads", "a dog ran fast", "--json"});
  TempDir folder;
  const std::string path = folder.Path("texts.txt");
  std::ofstream(path) << "the cat sat\na dog ran fast\n";
  const Json both = JsonOf({"heads", "--input", path, "--json"});
  EXPECT_EQ(both["texts"], 2);
  EXPECT_EQ(both["tokens"], first["tokens"].get<int>() + second["tokens"].get<int>());
  ASSERT_EQ(both["statistics"].size(), 12u);
  for (size_t head = 0; head < 12; ++head) {
    const auto entropy = [head](const Json& json) {
      return json["statistics"][head]["entropy"].get<double>();
    };
    EXPECT_NEAR(entropy(both), (entropy(first) + entropy(second)) / 2, 1e-5);
  }
}

TEST_F(AttentionCommandLineTest, HeadsNameTheLineThatIsTooLong) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "cat ";
  const ProgramResult result = Attune({"heads", "--truncate", "error"}, "the cat\n" + text + "\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("standard input:2: "), HasSubstr("more than 64 tokens")));
}

// The JSON in the script element of that id.
std::string Embedded(const std::string& page, const std::string& id) {
  const std::string begin = "id=\"" + id + "\">";
  const size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST_F(AttentionCommandLineTest, ThePageHoldsTheServersReplyAndHowToAskForItAgain) {
  const ProgramResult result = Attune({"export-html", kText, "--encoding", "f32", "--layer", "1:"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<float> expected = Map("layers: [1, 2]").Data();

  const absl::StatusOr<Json> bertviz = ParseJson(Embedded(result.out, "bertviz"));
  ASSERT_TRUE(bertviz.ok());
  const std::vector<float> values = Numbers((*bertviz)["attention"][0]["attn"]);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4);

  const absl::StatusOr<Json> exchange = ParseJson(Embedded(result.out, "attune"));
  ASSERT_TRUE(exchange.ok());
  v1::AttentionMapRequest request;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage((*exchange)["request"].dump(), &request).ok());
  EXPECT_THAT(MapAttention(server_, request.query()).Data(), ElementsAreArray(expected));
  v1::AttentionMapResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage((*exchange)["response"].dump(), &response).ok());
  EXPECT_THAT(ValuesOf<float>(response.data()), ElementsAreArray(expected));
}

}  // namespace
}  // namespace attune
