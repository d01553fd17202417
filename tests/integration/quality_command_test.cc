// `attune-server quality` as an operator runs it.

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/ops/precision_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/default_model.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::DefaultModelPath;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunProgram;
using ::attune::testing::TempDir;
using ::attune::testing::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

ProgramResult RunQuality(std::vector<std::string> arguments,
                         const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), "quality");
  return RunProgram(std::getenv("ATTUNE_SERVER_BINARY"),
                    {.arguments = arguments, .environment = environment});
}

TEST(QualityCommandTest, HelpTeachesAndSaysTheExitCodes) {
  const ProgramResult help = RunQuality({"--help"});
  EXPECT_THAT(help.out, AllOf(HasSubstr("attune-server quality --model"), HasSubstr("--texts"),
                              HasSubstr("Exit codes: 0")));
  EXPECT_EQ(help.exit_code, 0);
}

TEST(QualityCommandTest, WrongUsageIsExitCode2) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--no-such-flag"}, "no-such-flag"},    {{"--precision", "f32"}, "--precision"},
      {{"--precision", "fp4"}, "--precision"}, {{"--kernels", "mkl"}, "--kernels"},
      {{"--threads", "0"}, "--threads"},       {{"--texts", "/no/such/file"}, "/no/such/file"},
  };
  for (const auto& [arguments, part] : mistakes) {
    const ProgramResult result = RunQuality(arguments);
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.exit_code, 2) << part;
  }
}

TEST(QualityCommandTest, AModelThatCannotBeLoadedIsExitCode1) {
  const ProgramResult result = RunQuality({"--model", "/no/such/folder"});
  EXPECT_THAT(result.err, HasSubstr("/no/such/folder"));
  EXPECT_EQ(result.exit_code, 1);
}

TEST(QualityCommandTest, TooFewTextsAreRefusedByCount) {
  const TinyModel model;
  const TempDir dir;
  dir.Write("texts", "only one\n\n  \n");
  const ProgramResult result = RunQuality({"--model", model.path(), "--texts", dir.Path("texts")});
  EXPECT_THAT(result.err, HasSubstr("has 1 texts; it must be from 2"));
  EXPECT_EQ(result.exit_code, 1);
}

TEST(QualityCommandTest, SaysWhatTheCpuLacksAndDoesNotCallThatAPass) {
  const TinyModel model;
  const ProgramResult result = RunQuality({"--model", model.path()}, {"ONEDNN_MAX_CPU_ISA=AVX2"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("bf16: not measured: bf16 needs AVX512_BF16"),
                                HasSubstr("int8: not measured: int8 needs AVX512_VNNI")));
  EXPECT_EQ(result.exit_code, 1);
}

// On the default model, whatever this CPU has.
TEST(QualityCommandTest, MeasuresTheDefaultModelOverBuiltInAndGivenTexts) {
  const TempDir dir;
  std::string texts;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&texts, "The number of the house is ", i, ".\n");
  dir.Write("texts", texts);
  const ProgramResult result =
      RunQuality({"--model", DefaultModelPath(), "--texts", dir.Path("texts"), "--json"});
  EXPECT_EQ(result.err, "");
  ATTUNE_ASSERT_OK_AND_ASSIGN(Json json, ParseJson(result.out));
  EXPECT_EQ(json["model"], "all-MiniLM-L6-v2");
  EXPECT_EQ(json["precisions"].size(), 2u);
  bool any = false;
  for (Json& precision : json["precisions"]) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Precision which,
                                ParsePrecision(precision["precision"].get<std::string>()));
    const bool supported = CheckPrecisionSupported(which).ok();
    any |= supported;
    EXPECT_EQ(precision.contains("missing"), !supported);
    if (!supported) continue;
    EXPECT_EQ(precision["passes"], true) << precision;
    EXPECT_GE(precision["built_in_texts"]["texts"], 256);
    EXPECT_EQ(precision["given_texts"]["texts"], 40);
    EXPECT_GT(precision["given_texts"]["mean_overlap"], 0.5);
  }
  EXPECT_EQ(json["passes"], any);
  EXPECT_EQ(result.exit_code, any ? 0 : 1);
}

}  // namespace
}  // namespace attune
