// The attune-server program as an operator meets it: help, mistakes, signals.

#include <sched.h>

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/support/running_server.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/server_program.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeValues;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::kNoHttpPort;
using ::attune::testing::kNoOpsPort;
using ::attune::testing::PortOf;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunningServer;
using ::attune::testing::RunProgram;
using ::attune::testing::SafetensorsBytes;
using ::attune::testing::ServerBinary;
using ::attune::testing::ServerProgram;
using ::attune::testing::TensorToWrite;
using ::attune::testing::TinyFileTensors;
using ::attune::testing::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Runs the program to its end.
ProgramResult RunServer(const std::vector<std::string>& arguments,
                        std::vector<std::string> environment = {}) {
  environment.insert(environment.begin(), {kNoHttpPort, kNoOpsPort});
  return RunProgram(ServerBinary(),
                    {.arguments = arguments, .environment = std::move(environment)});
}

TEST(ServerBinaryTest, HelpTeachesAndVersionIsOneLine) {
  const ProgramResult help = RunServer({"--help"});
  EXPECT_THAT(help.out, AllOf(HasSubstr("attune-server --model"), HasSubstr("--max-queue-tokens"),
                              HasSubstr("ATTUNE_MAX_TEXTS"), HasSubstr("SIGTERM"),
                              HasSubstr("--quality-cache"), HasSubstr("attune-server quality")));
  EXPECT_EQ(help.exit_code, 0);
  const ProgramResult version = RunServer({"--version"});
  EXPECT_THAT(version.out, HasSubstr("attune-server 0."));
  EXPECT_EQ(version.exit_code, 0);
}

TEST(ServerBinaryTest, MistakesInFlagsAreOneLineAndExitCodeOne) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--no-such-flag"}, "no-such-flag"},
      {{"--max-texts", "many"}, "--max-texts"},
      {{"--max-texts", "0"}, "--max-texts is 0"},
      {{"--drain-delay", "soon"}, "--drain-delay"},
      {{"--log-level", "loud"}, "\"loud\""},
      {{"--log-format", "xml"}, "--log-format: log format \"xml\" is not json or text"},
      {{"--access-log", "maybe"}, "--access-log"},
      {{"--ops-address", ""}, "--ops-address is empty"},
      {{"--ops-address", "nowhere"}, "--ops-address: nowhere"},
      {{"--precision", "fp4"}, "--precision is \\\"fp4\\\""},
      {{"--kernels", "mkl"}, "--kernels is \\\"mkl\\\""},
      {{"--quality-cache", ""}, "--quality-cache is empty"},
      {{"--max-input-tokens", "65"}, "--max-input-tokens is 65; this model takes from 2"},
      {{"--model", "/no/such/folder"}, "/no/such/folder"},
      {{"--grpc-address", "0.0.0.0:0"}, "--insecure true"},
      {{"--http-address", "0.0.0.0:0"}, "--insecure true"},
      {{"--tls-cert", "/no/such/file", "--tls-key", "/no/such/file"}, "--tls-cert /no/such/file"},
      {{"--token-file", "/no/such/file"}, "--token-file /no/such/file"},
      {{"--grpc-address", "nowhere"}, "--grpc-address is nowhere; it must be HOST:PORT"},
  };
  const TinyModel model;
  const std::vector<std::string> right = {"ATTUNE_GRPC_ADDRESS=127.0.0.1:0",
                                          "ATTUNE_MODEL=" + model.path()};
  for (const auto& [arguments, part] : mistakes) {
    const ProgramResult result = RunServer(arguments, right);
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.exit_code, 1) << part;
  }
}

TEST(ServerBinaryTest, CheckSaysWhatWouldServeAndOpensNoPort) {
  const TinyModel model;
  // A port that is taken does not matter to it.
  ServerProgram server({"--grpc-address", "127.0.0.1:0", "--model", model.path()});
  const std::string address = absl::StrCat("127.0.0.1:", PortOf(server.ReadUntil("\"listening\"")));
  const ProgramResult checked = RunServer({"check", "--json", "--grpc-address", address, "--model",
                                           model.path(), "--precision", "f32", "--max-texts", "7"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const absl::StatusOr<Json> summary = ParseJson(checked.out);
  ASSERT_TRUE(summary.ok()) << checked.out;
  EXPECT_EQ(summary->at("dimension"), 16);
  EXPECT_EQ(summary->at("precision"), "f32");
  EXPECT_EQ(summary->at("max_texts"), 7);
  EXPECT_THAT(server.ReadUntil("\"serving\""),
              HasSubstr(summary->at("revision").get<std::string>()));

  const ProgramResult table = RunServer({"check", "--model", model.path()});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("dimension                   16\n"));
}

TEST(ServerBinaryTest, CheckFailsWithTheErrorOfTheStart) {
  const TinyModel model;
  model.dir().Remove("model.safetensors");
  const std::vector<std::vector<std::string>> mistakes = {
      {"--grpc-address", "127.0.0.1:0", "--model", model.path()},
      {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--max-texts", "0"},
  };
  const auto error_of = [](const ProgramResult& result) {
    const size_t begin = result.err.find("\"level\":\"error\"");
    return begin == std::string::npos
               ? result.err
               : result.err.substr(begin, result.err.find('\n', begin) - begin);
  };
  for (std::vector<std::string> arguments : mistakes) {
    const ProgramResult started = RunServer(arguments);
    arguments.insert(arguments.begin(), "check");
    const ProgramResult checked = RunServer(arguments);
    EXPECT_EQ(checked.exit_code, 1);
    EXPECT_EQ(error_of(checked), error_of(started));
    EXPECT_EQ(checked.out, "");
  }
}

TEST(ServerBinaryTest, EnvironmentSetsWhatNoFlagSets) {
  const ProgramResult result =
      RunServer({"--print-config", "--max-texts", "5"},
                {"ATTUNE_MAX_TEXTS=7", "ATTUNE_THREADS=3", "ATTUNE_SERVICE_HOST=10.0.0.1"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\"max-texts\": \"5\""), HasSubstr("\"threads\": \"3\"")));
  EXPECT_THAT(result.err, HasSubstr("ATTUNE_SERVICE_HOST"));
  EXPECT_EQ(result.exit_code, 0);
}

TEST(ServerBinaryTest, RefusesAPrecisionThatTheCpuLacksByTheInstructionsName) {
  const TinyModel model;
  const std::vector<std::string> capped = {"ONEDNN_MAX_CPU_ISA=AVX2"};
  for (const auto& [precision, instructions] :
       {std::pair("int8", "AVX512_VNNI"), std::pair("bf16", "AVX512_BF16")}) {
    const ProgramResult result = RunServer(
        {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--precision", precision},
        capped);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr(absl::StrCat("--precision ", precision, " cannot be used")),
                      HasSubstr(instructions), HasSubstr("it runs avx2")));
    EXPECT_EQ(result.exit_code, 1);
  }
}

TEST(ServerBinaryTest, AutoServesF32WhereTheCpuLacksBf16AndSaysSo) {
  const TinyModel model;
  ServerProgram program({"--grpc-address", "127.0.0.1:0", "--model", model.path()},
                        {"ONEDNN_MAX_CPU_ISA=AVX2"});
  const int port = PortOf(program.ReadUntil("\"listening\""));
  EXPECT_THAT(program.ReadUntil("\"precision_chosen\""),
              AllOf(HasSubstr("\"precision\":\"f32\""), HasSubstr("AVX512_BF16")));
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  v1::GetModelResponse info;
  const auto context = testing::WithDeadline();
  ASSERT_THAT(stub->GetModel(context.get(), v1::GetModelRequest(), &info), IsGrpcOk());
  EXPECT_EQ(info.precision(), "f32");
  EXPECT_THAT(info.precision_reason(), AllOf(HasSubstr("auto: "), HasSubstr("AVX512_BF16")));
  EXPECT_FALSE(info.has_quality());
}

TEST(ServerBinaryTest, C60ServesUntilSigtermThenDrainsAndExitsZero) {
  const TinyModel model;
  ServerProgram program(
      {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--drain-delay", "10ms"});
  const int port = PortOf(program.ReadUntil("\"listening\""));
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  EXPECT_THAT(Encode(*stub, {"the cat"}).status, IsGrpcOk());
  program.Signal(SIGTERM);
  EXPECT_NE(program.ReadUntil("every admitted request was answered"), "");
  EXPECT_EQ(program.Wait(), 0);
}

// This thread, and what it starts, on one CPU.
class OnOneCpu {
 public:
  OnOneCpu() {
    sched_getaffinity(0, sizeof(before_), &before_);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before_)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OnOneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_ = {};
};

TEST(ServerBinaryTest, C58ThreadsFollowTheAffinityUnlessAFlagSaysOtherwise) {
  const TinyModel model;
  const OnOneCpu one_cpu;
  RunningServer limited(model.path());
  EXPECT_THAT(limited.serving(),
              AllOf(HasSubstr("\"affinity_cpus\":1,"), HasSubstr("\"cgroup_cpus\":"),
                    HasSubstr("\"threads\":1,"), HasSubstr("\"isa\":\"")));
  EXPECT_THAT(Encode(limited.stub(), {"the cat"}).status, IsGrpcOk());
  RunningServer told(model.path(), {"--threads", "3"});
  EXPECT_THAT(told.serving(), HasSubstr("\"threads\":3,"));
  EXPECT_THAT(Encode(told.stub(), {"the cat"}).status, IsGrpcOk());
}

TEST(ServerBinaryTest, C60AModelThatFailsItsWarmUpIsNeverServed) {
  const TinyModel model;
  std::vector<TensorToWrite> tensors = TinyFileTensors(model.options());
  // Finite weights, whose products with anything above one are not.
  for (TensorToWrite& tensor : tensors) {
    if (tensor.name != "encoder.layer.1.output.LayerNorm.weight") continue;
    tensor.data = EncodeValues("F32", std::vector<float>(16, 3e38f));
  }
  model.dir().Write("model.safetensors", SafetensorsBytes(tensors));
  const ProgramResult result =
      RunServer({"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--precision", "f32"});
  EXPECT_THAT(result.err, HasSubstr("the warm-up failed: the text vector is not finite"));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("\"serving\"")));
  EXPECT_EQ(result.exit_code, 1);
}

TEST(ServerBinaryTest, ASecondSignalEndsTheDrainAtOnce) {
  const TinyModel model;
  ServerProgram program(
      {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--drain-delay", "1h"});
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  program.Signal(SIGINT);
  ASSERT_NE(program.ReadUntil("\"draining\""), "");
  program.Signal(SIGINT);
  EXPECT_NE(program.ReadUntil("\"stopped\""), "");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(ServerBinaryTest, EveryLogLineIsOneJsonObject) {
  const TinyModel model;
  ServerProgram program(
      {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--drain-delay", "0s"});
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  program.Signal(SIGTERM);
  const std::string output = program.ReadAll();
  EXPECT_EQ(program.Wait(), 0);
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(output, '\n', absl::SkipEmpty()))) {
    const absl::StatusOr<Json> parsed = ParseJson(line);
    ASSERT_TRUE(parsed.ok()) << line;
    for (const char* key : {"ts", "level", "event", "msg"}) EXPECT_TRUE(parsed->contains(key));
  }
}

TEST(ServerBinaryTest, C60ATakenPortIsAnErrorAndWhatLibrariesSayOfItIsJsonToo) {
  const TinyModel model;
  const testing::TestServer first(testing::TestOptions(model.path()));
  // libgrpc complains of a port that is taken.
  const ProgramResult result =
      RunServer({"--grpc-address", first.address(), "--model", model.path()});
  EXPECT_EQ(result.exit_code, 1);
  std::vector<std::string> events;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(result.err, '\n', absl::SkipEmpty()))) {
    const absl::StatusOr<Json> parsed = ParseJson(line);
    ASSERT_TRUE(parsed.ok()) << line;
    events.push_back(parsed->value("event", ""));
  }
  EXPECT_THAT(events, ::testing::Contains("grpc"));
  EXPECT_THAT(events, ::testing::Contains("start_failed"));
}

}  // namespace
}  // namespace attune
