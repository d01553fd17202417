// The attune program against a real server: what a newcomer types first.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::ProgramResult;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() : server_(TestOptions(model_.path())) {}

  ProgramResult Attune(std::vector<std::string> arguments, const std::string& input = "") {
    return testing::RunProgram(ATTUNE_PROGRAM,
                               {.arguments = std::move(arguments),
                                .standard_input = input,
                                .environment = {"ATTUNE_SERVER=" + server_.address()}});
  }

  TinyModel model_;
  TestServer server_;
};

TEST_F(CommandLineTest, EncodePrintsTheServersVectors) {
  const auto expected = Encode(server_.stub(), {"the cat"});
  ASSERT_THAT(expected.status, IsGrpcOk());
  const ProgramResult result = Attune({"encode", "--format", "jsonl", "the cat"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Json> line = ParseJson(result.out);
  ASSERT_TRUE(line.ok()) << result.out;
  EXPECT_EQ((*line)["text"], "the cat");
  EXPECT_EQ((*line)["tokens"], 4);
  const auto& values = expected.response.embeddings(0).values();
  ASSERT_EQ((*line)["embedding"].size(), static_cast<size_t>(values.size()));
  for (int i = 0; i < values.size(); ++i) {
    EXPECT_EQ((*line)["embedding"][static_cast<size_t>(i)].get<float>(), values.Get(i));
  }
}

TEST_F(CommandLineTest, EncodeTakesThousandsOfLinesInOrderAndSaysWhatWasCut) {
  std::string lines;
  for (int i = 0; i < 3'000; ++i) lines += i % 2 == 0 ? "the cat\n" : "the dog ran\n";
  for (int i = 0; i < 100; ++i) lines += "mat ";
  const ProgramResult result = Attune({"encode", "--format", "jsonl", "--input", "-"}, lines);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3'001);
  EXPECT_THAT(result.err, HasSubstr("1 of 3001"));
}

TEST_F(CommandLineTest, EncodeReadsPairsFromArgumentsAndLines) {
  v1::EncodeRequest request;
  request.mutable_text_pairs()->add_values()->set_first("the cat");
  request.mutable_text_pairs()->mutable_values(0)->set_second("a dog");
  const auto expected = Encode(server_.stub(), request);
  ASSERT_THAT(expected.status, IsGrpcOk());
  const ProgramResult arguments =
      Attune({"encode", "--pair", "--format", "jsonl", "the cat", "a dog"});
  ASSERT_EQ(arguments.exit_code, 0) << arguments.err;
  const absl::StatusOr<Json> line = ParseJson(arguments.out);
  ASSERT_TRUE(line.ok()) << arguments.out;
  EXPECT_EQ((*line)["text"], "the cat");
  EXPECT_EQ((*line)["text_pair"], "a dog");
  EXPECT_EQ((*line)["tokens"], 7);
  EXPECT_EQ((*line)["embedding"][0].get<float>(), expected.response.embeddings(0).values(0));
  EXPECT_EQ(
      Attune({"encode", "--pair", "--format", "jsonl", "--input", "-"}, "the cat\ta dog\n").out,
      arguments.out);

  const ProgramResult odd = Attune({"encode", "--pair", "the cat", "a dog", "hello"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_THAT(odd.err, HasSubstr("a pair is two arguments"));
}

TEST_F(CommandLineTest, ExplainPrintsSharesThatAddUpToTheCosine) {
  const ProgramResult table = Attune({"explain", "the cat sat", "a dog", "--top", "3"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("cosine "), HasSubstr("of 20 pairs of tokens"),
                               HasSubstr("share  first"), HasSubstr("share  second")));

  const ProgramResult json = Attune({"explain", "the cat sat", "a dog", "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const absl::StatusOr<Json> explanation = ParseJson(json.out);
  ASSERT_TRUE(explanation.ok()) << json.out;
  EXPECT_EQ((*explanation)["first_tokens"].size(), 5u);
  EXPECT_EQ((*explanation)["second_tokens"][1]["text"], "a");
  double sum = 0;
  double sizes = 0;
  for (const Json& row : (*explanation)["contributions"]) {
    ASSERT_EQ(row.size(), 4u);
    for (const Json& share : row) {
      sum += share.get<float>();
      sizes += std::abs(share.get<float>());
    }
  }
  // Shares are rounded to f32 twice, the cosine once, and both are read back exactly.
  EXPECT_NEAR(sum, (*explanation)["cosine"].get<double>(), 0x1p-23 * sizes + 0x1p-24);
}

TEST_F(CommandLineTest, AttentionDrawsTokensAndWeights) {
  const ProgramResult result = Attune({"attention", "the cat sat", "--layer", "0", "--head", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("layer 0, head 1"), HasSubstr("[CLS]"), HasSubstr("cat")));
}

TEST_F(CommandLineTest, AttentionNamesTheRangeOfAWrongHead) {
  const ProgramResult result = Attune({"attention", "the cat", "--layer", "0", "--head", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--head holds 2; valid are 0 to 1"));
}

TEST_F(CommandLineTest, TokenizeInfoHealthAndAttendAnswer) {
  EXPECT_THAT(Attune({"tokenize", "the cats"}).out, AllOf(HasSubstr("##s"), HasSubstr("7-8")));
  EXPECT_THAT(Attune({"info"}).out, AllOf(HasSubstr("bert"), HasSubstr("max_texts")));
  EXPECT_EQ(Attune({"health"}).exit_code, 0);
  EXPECT_THAT(Attune({"attend", "--example", "b"}).out, HasSubstr("0.4683"));
}

TEST_F(CommandLineTest, BenchCountsEveryRequest) {
  const ProgramResult result = Attune({"bench", "--clients", "2", "--requests", "50", "--warmup",
                                       "100ms", "--words", "1-8", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Json> report = ParseJson(result.out);
  ASSERT_TRUE(report.ok()) << result.out;
  EXPECT_EQ((*report)["requests"], 50);
  EXPECT_EQ((*report)["succeeded"], 50);
}

TEST_F(CommandLineTest, BenchTellsLengthsApartAndWhatTheServerCost) {
  const ProgramResult result =
      Attune({"bench", "--requests", "40", "--warmup", "1ms", "--words", "mixed", "--server-pid",
              std::to_string(getpid()), "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Json> report = ParseJson(result.out);
  ASSERT_TRUE(report.ok()) << result.out;
  int requests = 0;
  for (const Json& length : (*report)["latency_ms_by_tokens"]) {
    requests += length["requests"].get<int>();
    EXPECT_LE(length["p50"], length["p99"]);
  }
  EXPECT_EQ(requests, 40);
  EXPECT_GE((*report)["server_cpu_seconds"].get<double>(), 0);
}

TEST_F(CommandLineTest, BenchRefusesAServerProcessThatIsNotThere) {
  const ProgramResult result = Attune({"bench", "--server-pid", "2147483647"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no process 2147483647"));
}

}  // namespace
}  // namespace attune
