// The `attune` program as a user runs it, against a scripted server.
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/cli/program_fixture.h"

namespace attune {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::kError;
using ::attune::testing::kOk;
using ::attune::testing::kUsage;
using ::attune::testing::ProgramResult;
using ::attune::testing::ProgramTest;
using ::attune::testing::RefusedFor;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::vector<Json> JsonLines(const std::string& text) {
  std::vector<Json> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line.begin(), line.end()));
  }
  return lines;
}

// ---- Usage --------------------------------------------------------------------------------------

TEST_F(ProgramTest, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"encode", "attention", "heads", "export-html", "explain", "attend",
                              "tokenize", "info", "health", "bench"}) {
    const ProgramResult result = Attune({command, "--help"});
    EXPECT_EQ(result.exit_code, kOk);
    EXPECT_THAT(result.out, AllOf(HasSubstr("--server"), HasSubstr("--timeout"),
                                  HasSubstr("ATTUNE_SERVER"), HasSubstr("Examples:")));
  }
}

TEST_F(ProgramTest, WrongUsageExitsWith2AndSaysWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{}, "subcommand is required"},
      {{"embed"}, "subcommand is required"},
      {{"encode", "--pooling", "median", "x"}, "median not in"},
      {{"encode", "--timeout", "0", "x"}, "is not a time"},
      {{"encode", "--pooling", "none", "--format", "npy", "x"}, "use --format jsonl"},
      {{"encode", "--similarity", "--format", "jsonl", "x"}, "--format excludes --similarity"},
      {{"encode", "x", "--input", "y"}, "excludes"},
      {{"encode", "x", "--server", ""}, "address is empty"},
      {{"encode", "x", "--server", "10.0.0.1:1,encoder:1"}, "\"encoder:1\" in a list"},
      {{"encode", "x", "--tls-name", "encoder"}, "--tls-ca"},
      {{"attention"}, "text is required"},
      {{"attend", "--example", "z"}, "z not in"},
      {{"bench", "--rate", "5", "--clients", "2"}, "excludes"},
      {{"bench", "--words", "9-3"}, "MIN <= MAX"},
      {{"bench", "--verify"}, "--input"},
  };
  for (const auto& c : cases) {
    const ProgramResult result = Attune(c.arguments);
    EXPECT_EQ(result.exit_code, kUsage) << c.message;
    EXPECT_THAT(result.err, HasSubstr(c.message));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST_F(ProgramTest, SaysWhatToDoWhenThereIsNoServer) {
  const ProgramResult result = Attune({"encode", "x", "--server", "127.0.0.1:1"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("127.0.0.1:1"),
                                HasSubstr("attune-server"), HasSubstr("--server")));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST_F(ProgramTest, TheTimeoutBoundsACall) {
  server_.encoder().encode = [](grpc::ServerContext& context, const v1::EncodeRequest&,
                                v1::EncodeResponse&) {
    while (!context.IsCancelled()) {
    }
    return grpc::Status::CANCELLED;
  };
  const ProgramResult result = Attune({"encode", "x", "--timeout", "200ms"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, AllOf(HasSubstr("within 200ms"), HasSubstr("--timeout")));
}

// ---- encode -------------------------------------------------------------------------------------

TEST_F(ProgramTest, EncodesArgumentsToJsonLines) {
  const ProgramResult result = Attune({"encode", "cat", "a \"quoted\" 没"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(result.err, "");
  const std::vector<Json> lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], Json::parse(R"({"text": "cat", "tokens": 3, "embedding": [3, 99, 1, 0]})"));
  EXPECT_EQ(lines[1]["text"], "a \"quoted\" 没");
}

TEST_F(ProgramTest, EncodesStandardInputLineByLine) {
  const ProgramResult result =
      Attune({"encode", "--input", "-"}, {.standard_input = "one\n\nthree\n"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const std::vector<Json> lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["text"], "");
  EXPECT_EQ(lines[2]["text"], "three");
  // Standard input that is not a terminal is taken without being asked for.
  EXPECT_EQ(Attune({"encode"}, {.standard_input = "one\n\nthree\n"}).out, result.out);
}

TEST_F(ProgramTest, TakesOnlyTheTextOfJsonLines) {
  const std::string path = File("docs.jsonl", "{\"id\": 1, \"text\": \"cat\"}\n");
  const ProgramResult result = Attune({"encode", "--input", path});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(JsonLines(result.out)[0],
            Json::parse(R"({"text": "cat", "tokens": 3, "embedding": [3, 99, 1, 0]})"));
}

TEST_F(ProgramTest, EncodesManyTextsInOrder) {
  std::string texts;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&texts, "text ", i, "\n");
  const ProgramResult result = Attune({"encode"}, {.standard_input = texts});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const std::vector<Json> lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 1000u);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(lines[i]["text"], absl::StrCat("text ", i));
}

TEST_F(ProgramTest, WritesNpyFiles) {
  const std::string path = File("vectors.npy", "old");
  const ProgramResult result =
      Attune({"encode", "cat", "dog!", "--format", "npy", "--output", path});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  const std::string bytes = Content(path);
  ASSERT_EQ(bytes.size(), 128 + 2 * 4 * sizeof(float));
  EXPECT_THAT(bytes, HasSubstr("'shape': (2, 4)"));
  std::vector<float> values(8);
  std::memcpy(values.data(), bytes.data() + 128, 8 * sizeof(float));
  EXPECT_THAT(values, ::testing::ElementsAre(3, 'c', 1, 0, 4, 'd', 1, 0));
  EXPECT_EQ(Attune({"encode", "cat", "dog!", "--format", "npy"}).out, bytes);
}

TEST_F(ProgramTest, KeepsTheOldFileWhenAnErrorCutsTheNewOneShort) {
  const std::string path = File("vectors.npy", "old");
  const ProgramResult result =
      Attune({"encode", "--format", "npy", "--output", path}, {.standard_input = "good\n\xff\n"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_EQ(Content(path), "old");
  EXPECT_EQ(Content(path + ".partial"), "");
}

TEST_F(ProgramTest, PrintsATableAndASimilarityMatrix) {
  EXPECT_EQ(Attune({"encode", "cat", "--format", "table"}).out,
            "text                              tokens  length  first values\n"
            "cat                                    3 99.0505    3.0000  99.0000   1.0000   "
            "0.0000\n");
  EXPECT_EQ(Attune({"encode", "cat", "cow", "--similarity"}).out,
            "   cosine      1      2\n"
            "1  cat     1.000  1.000\n"
            "2  cow     1.000  1.000\n");
}

TEST_F(ProgramTest, PassesPoolingNormalizationAndTokenIds) {
  v1::EncodeRequest seen;
  server_.encoder().encode = [&seen](grpc::ServerContext&, const v1::EncodeRequest& request,
                                     v1::EncodeResponse& response) {
    seen = request;
    return FakeEncoder::DefaultEncode(request, response);
  };
  const ProgramResult result =
      Attune({"encode", "--token-ids", "101 102", "--pooling", "none", "--no-normalize",
              "--truncate", "left", "--max-tokens", "9"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(JsonLines(result.out)[0], Json::parse(R"({"token_ids": [101, 102], "tokens": 2,
                                       "embedding": [[2, 101, 1, 0], [2, 101, 1, 0]]})"));
  EXPECT_EQ(seen.options().pooling(), v1::POOLING_NONE);
  EXPECT_TRUE(seen.options().has_normalize());
  EXPECT_FALSE(seen.options().normalize());
  EXPECT_EQ(seen.options().truncation(), v1::TRUNCATION_LEFT);
  EXPECT_EQ(seen.options().max_tokens(), 9u);
}

TEST_F(ProgramTest, SaysHowManyTextsWereCut) {
  const ProgramResult result = Attune({"encode", "abc", "a", "abcd", "--max-tokens", "2"});
  ASSERT_EQ(result.exit_code, kOk);
  EXPECT_THAT(result.err, HasSubstr("2 of 3 texts had too many tokens and were cut on the right"));
  EXPECT_EQ(JsonLines(result.out)[0]["truncated"], true);
  EXPECT_FALSE(JsonLines(result.out)[1].contains("truncated"));
}

TEST_F(ProgramTest, SaysHowManyTextsAreBeyondWhatTheModelWasTrainedFor) {
  const ProgramResult result = Attune({"encode", std::string(257, 'a'), std::string(256, 'a')});
  ASSERT_EQ(result.exit_code, kOk);
  EXPECT_THAT(result.err,
              HasSubstr("1 of 2 texts have more tokens than the model was trained for"));
  EXPECT_EQ(JsonLines(result.out)[0]["beyond_trained_length"], true);
  EXPECT_FALSE(JsonLines(result.out)[1].contains("beyond_trained_length"));
}

TEST_F(ProgramTest, NamesTheLineThatIsNotUtf8) {
  const std::string path = File("latin1.txt", "fine\ncaf\xe9\n");
  const ProgramResult result = Attune({"encode", "--input", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, AllOf(HasSubstr("latin1.txt:2: not UTF-8: byte 0xe9 at column 4"),
                                HasSubstr("iconv")));
  EXPECT_EQ(JsonLines(result.out).size(), 1u) << "the lines before it are done";
}

TEST_F(ProgramTest, NamesTheLineThatTheServerRefuses) {
  server_.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                                v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "texts.values[1]: too long");
  };
  const std::string path = File("docs.jsonl", "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n");
  const ProgramResult result = Attune({"encode", "--input", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("docs.jsonl:3: texts.values[1]: too long"));
}

TEST_F(ProgramTest, NamesAFileThatIsMissing) {
  const ProgramResult result = Attune({"encode", "--input", "/no/such/file"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("cannot open /no/such/file: No such file"));
}

TEST_F(ProgramTest, EscapesWhatTheServerSays) {
  server_.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                                v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "\x1b[2J\x07oops");
  };
  const ProgramResult result = Attune({"encode", "x"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, AllOf(HasSubstr("\\u{1b}[2J\\u{7}oops"), Not(HasSubstr("\x1b"))));
}

TEST_F(ProgramTest, AFullDiskIsAnError) {
  const ProgramResult result = Attune({"encode", "x", "--output", "/dev/full"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

TEST_F(ProgramTest, ATerminalGetsATable) {
  const ProgramResult result = Attune({"encode", "cat"}, {.on_terminal = true});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, StartsWith("text "));
}

// ---- attend -------------------------------------------------------------------------------------

v1::Matrix Matrix(uint32_t rows, uint32_t cols, const std::vector<float>& values) {
  v1::Matrix matrix;
  matrix.set_rows(rows);
  matrix.set_cols(cols);
  matrix.mutable_values()->Add(values.begin(), values.end());
  return matrix;
}

TEST_F(ProgramTest, ShowsEveryStepOfAttend) {
  v1::AttendResponse& response = server_.encoder().attend_response;
  *response.mutable_queries() = Matrix(2, 2, {1, 0, 0, 1});
  *response.mutable_scores() = Matrix(4, 2, {1, 2, 3, 4, 5, 6, 7, 8});
  *response.mutable_weights() = Matrix(4, 2, {1, 0, 0.5f, 0.5f, 0, 1, 1, 0});
  *response.mutable_outputs() = Matrix(2, 2, {9, 9, 9, 9});
  const std::string request = R"({"vectors": [[1, 0], [0, 1]], "heads": 2, "mask": "causal"})";
  const ProgramResult result = Attune({"attend", "-"}, {.standard_input = request});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("X, the vectors  [2 x 2]"), HasSubstr("Q = X  [2 x 2]"),
                    HasSubstr("scores = Q K^T / sqrt(head_dim), head 1  [2 x 2]"),
                    HasSubstr("weights = softmax(scores), masked; row: from, column: to, head 0"),
                    HasSubstr("outputs = weights V  [2 x 2]")));
  EXPECT_EQ(server_.encoder().last_attend().heads(), 2u);
  EXPECT_TRUE(server_.encoder().last_attend().mask().has_causal());
}

TEST_F(ProgramTest, WritesAttendAsJsonAndHasExamples) {
  *server_.encoder().attend_response.mutable_weights() = Matrix(1, 1, {0.25f});
  const ProgramResult result = Attune({"attend", "--example", "a", "--format", "json"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(result.out, "{\"weights\":[[[0.25]]]}\n");
  EXPECT_EQ(server_.encoder().last_attend().vectors().rows(), 3u);
  EXPECT_EQ(server_.encoder().last_attend().score(), v1::ATTEND_SCORE_DOT);
}

TEST_F(ProgramTest, NamesTheFileAndKeyThatAttendCannotRead) {
  const std::string path = File("request.json", R"({"vectors": [[1], [2, 3]]})");
  const ProgramResult result = Attune({"attend", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("request.json: \"vectors\" row 1 has 2 numbers"));
}

// ---- tokenize, info, health ---------------------------------------------------------------------

grpc::Status OneTokenPerText(const v1::TokenizeRequest& request, v1::TokenizeResponse& response) {
  for (const std::string& text : request.texts().values()) {
    v1::TokenizedText* tokenized = response.add_texts();
    if (!request.without_special_tokens()) {
      v1::Token* special = tokenized->add_tokens();
      special->set_text("[CLS]");
      special->set_id(101);
      special->set_word(-1);
      special->set_special(true);
    }
    v1::Token* token = tokenized->add_tokens();
    token->set_text(text);
    token->set_id(42);
    token->set_byte_end(static_cast<uint32_t>(text.size()));
    token->set_code_point_end(1);
  }
  return grpc::Status::OK;
}

TEST_F(ProgramTest, TokenizesToATable) {
  server_.encoder().tokenize = OneTokenPerText;
  EXPECT_EQ(Attune({"tokenize", "没"}).out,
            "没\n"
            "#  token   id  bytes  code points  word\n"
            "0  [CLS]  101\n"
            "1  没      42    0-3          0-1     0\n"
            "\n");
}

TEST_F(ProgramTest, TokenizesToJsonLines) {
  server_.encoder().tokenize = OneTokenPerText;
  std::string texts;
  for (int i = 0; i < 150; ++i) absl::StrAppend(&texts, "t", i, "\n");  // more than one request
  const ProgramResult result =
      Attune({"tokenize", "--format", "jsonl", "--no-specials"}, {.standard_input = texts});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const std::vector<Json> lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 150u);
  EXPECT_EQ(lines[149], Json::parse(R"({"text": "t149", "truncated": false, "tokens": [
      {"text": "t149", "id": 42, "bytes": [0, 4], "code_points": [0, 1], "word": 0,
       "special": false}]})"));
}

TEST_F(ProgramTest, ShowsTheModel) {
  const ProgramResult table = Attune({"info"});
  ASSERT_EQ(table.exit_code, kOk) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("name"), HasSubstr("fake"), HasSubstr("max_texts")));
  const Json json = Json::parse(Attune({"info", "--format", "json"}).out);
  EXPECT_EQ(json["dimension"], 4);
  EXPECT_EQ(json["pooling"], Json::parse(R"(["mean"])"));
  EXPECT_EQ(json["limits"]["max_texts"], 2048);
  EXPECT_FALSE(json.contains("quality"));
}

TEST_F(ProgramTest, ShowsWhichPrecisionRunsWhyAndHowGoodItIs) {
  v1::GetModelResponse& model = server_.encoder().model;
  model.set_precision("int8");
  model.set_precision_reason("--precision int8, past the quality gate");
  model.set_kernels("native:avx512");
  model.mutable_quality()->set_texts(300);
  model.mutable_quality()->set_mean_cosine(0.9985);
  EXPECT_THAT(Attune({"info"}).out,
              AllOf(HasSubstr("int8"), HasSubstr("past the quality gate"),
                    HasSubstr("native:avx512"), HasSubstr("quality.mean_cosine"),
                    HasSubstr("0.9985"), HasSubstr("trained_max_tokens")));
  const Json json = Json::parse(Attune({"info", "--format", "json"}).out);
  EXPECT_EQ(json["quality"]["texts"], 300);
  EXPECT_EQ(json["quality"]["mean_cosine"], 0.9985);
  EXPECT_EQ(json["kernels"], "native:avx512");
}

TEST_F(ProgramTest, HealthExitsWith0OnlyWhenServing) {
  const ProgramResult serving = Attune({"health"});
  EXPECT_EQ(serving.exit_code, kOk);
  EXPECT_EQ(serving.out, "SERVING\n");
  server_.health().SetState(HealthCheckResponse::NOT_SERVING);
  const ProgramResult draining = Attune({"health"});
  EXPECT_EQ(draining.exit_code, kError);
  EXPECT_EQ(draining.out, "NOT_SERVING\n");
  EXPECT_EQ(Attune({"health", "--server", "127.0.0.1:1"}).exit_code, kError);
}

TEST_F(ProgramTest, HealthWaitsUpToItsBound) {
  EXPECT_EQ(Attune({"health", "--wait", "30"}).out, "SERVING\n");
  server_.health().SetState(HealthCheckResponse::NOT_SERVING);
  const ProgramResult result = Attune({"health", "--wait", "300ms"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("not SERVING after 300ms (last state: NOT_SERVING)"));
}

// ---- bench --------------------------------------------------------------------------------------

TEST_F(ProgramTest, BenchReportsAClosedLoopAsJson) {
  const ProgramResult result =
      Attune({"bench", "--clients", "2", "--requests", "30", "--warmup", "1us", "--texts", "3",
              "--words", "4-4", "--format", "json"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["model"], "fake");
  EXPECT_EQ(json["succeeded"], 30);
  EXPECT_GT(json["texts_per_second"], 0);
  EXPECT_GE(json["latency_ms"]["max"], json["latency_ms"]["p50"]);
  EXPECT_TRUE(json["latency_ms"].contains("p99.9"));
  EXPECT_EQ(json["errors"], Json::object());
}

TEST_F(ProgramTest, BenchRunsAnOpenLoopOnTextsOfAFile) {
  const std::string path = File("texts.txt", "one\ntwo\n");
  const ProgramResult result = Attune(
      {"bench", "--rate", "500", "--duration", "200ms", "--warmup", "10ms", "--input", path});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("latency p99.9"), HasSubstr("client CPU")));
}

TEST_F(ProgramTest, BenchVerifiesAnswersAndProbesHealth) {
  const ProgramResult result =
      Attune({"bench", "--requests", "20", "--warmup", "1us", "--input",
              File("texts.txt", "a\nbb\n"), "--verify", "--probe-health", "--format", "json"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["wrong"], 0);
  EXPECT_GT(json["goodput"], 0);
  EXPECT_EQ(json["health"]["failed"], 0);
}

TEST_F(ProgramTest, BenchFailsWhenAnAnswerIsWrong) {
  // Right while the two texts' vectors are asked for, before the load.
  std::atomic<int> calls = 0;
  server_.encoder().encode = [&calls](grpc::ServerContext&, const v1::EncodeRequest& request,
                                      v1::EncodeResponse& response) {
    const grpc::Status status = FakeEncoder::DefaultEncode(request, response);
    if (calls++ >= 2) response.mutable_embeddings(0)->set_values(0, 7);
    return status;
  };
  const ProgramResult result =
      Attune({"bench", "--requests", "20", "--warmup", "1us", "--input",
              File("texts.txt", "a\nbb\n"), "--verify", "--format", "json"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_EQ(Json::parse(result.out)["wrong"], 20);
  EXPECT_THAT(result.err, HasSubstr("20 answers were wrong"));
}

TEST_F(ProgramTest, BenchShowsTheReasonsOfRefusals) {
  server_.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                                v1::EncodeResponse&) { return RefusedFor("QUEUE_FULL"); };
  const ProgramResult result = Attune({"bench", "--requests", "5", "--warmup", "1us"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.out, AllOf(HasSubstr("reason QUEUE_FULL"), HasSubstr("error p99")));
}

TEST_F(ProgramTest, BenchFailsWhenNothingSucceeds) {
  server_.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                                v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "queue full");
  };
  const ProgramResult result = Attune({"bench", "--requests", "5", "--warmup", "1us"});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.out, HasSubstr("error RESOURCE_EXHAUSTED"));
  EXPECT_THAT(result.err, HasSubstr("no request succeeded: queue full"));
}

}  // namespace
}  // namespace attune
