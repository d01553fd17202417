// The system lets the process have fewer threads than it wants.

#include <csignal>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/injected_faults.h"
#include "tests/support/running_server.h"
#include "tests/support/server_program.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::InjectedFaults;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::RunningServer;
using ::attune::testing::ServerProgram;
using ::attune::testing::TinyModel;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Of a text that is tokenised where it arrives, and of one that a tokenizer thread takes.
std::string VectorsOf(v1::EncoderService::Stub& stub) {
  v1::EncodeOptions cut;
  cut.set_truncation(v1::TRUNCATION_RIGHT);
  const EncodeResult result = Encode(stub, {"the cat", std::string(20'000, '.')}, cut);
  EXPECT_THAT(result.status, IsGrpcOk());
  return result.response.SerializeAsString();
}

TEST(ThreadsTest, C58AReloadTakesTheThreadsThereAreOrKeepsTheModel) {
  const TinyModel model;
  const InjectedFaults faults;
  RunningServer running(model.path(), {"--threads", "4", "--tokenizer-threads", "2"},
                        faults.environment());
  const std::string vectors = VectorsOf(running.stub());
  for (int threads = 0; threads <= 6; ++threads) {
    faults.AllowThreads(threads);
    const std::string end = running.Reload();
    const bool enough = threads > 2;  // both to tokenise with, and a worker
    EXPECT_THAT(end, HasSubstr(enough ? "\"reloaded\"" : "cannot start a "));
    EXPECT_EQ(VectorsOf(running.stub()), vectors);
  }
  EXPECT_EQ(running.Stop(), 0);
}

TEST(ThreadsTest, AReloadThatComparesPrecisionsTakesTheThreadsThereAreOrKeepsTheModel) {
  const TinyModel model;
  const InjectedFaults faults;
  RunningServer running(model.path(),
                        {"--precision", "auto", "--quality-cache", "off", "--threads", "4"},
                        faults.environment());
  const std::string vectors = VectorsOf(running.stub());
  for (int threads = 0; threads <= 10; ++threads) {
    faults.AllowThreads(threads);
    EXPECT_THAT(running.Reload(), AnyOf(HasSubstr("\"reloaded\""), HasSubstr("cannot start a ")));
    EXPECT_EQ(VectorsOf(running.stub()), vectors);
  }
  EXPECT_EQ(running.Stop(), 0);
}

TEST(ThreadsTest, ADrainNeedsNoFurtherThread) {
  const TinyModel model;
  const InjectedFaults faults;
  RunningServer running(model.path(), {}, faults.environment());
  faults.AllowThreads(0);
  EXPECT_NE(VectorsOf(running.stub()), "");
  running.program().Signal(SIGTERM);
  EXPECT_NE(running.program().ReadUntil("\"no_second_signal\""), "");
  EXPECT_THAT(running.program().ReadAll(), HasSubstr("every admitted request was answered"));
  EXPECT_EQ(running.program().Wait(), 0);
}

TEST(ThreadsTest, AStartThatGetsNoThreadSaysSo) {
  const TinyModel model;
  const InjectedFaults faults;
  faults.AllowThreads(0);
  ServerProgram program({"--model", model.path(), "--grpc-address", "127.0.0.1:0"},
                        faults.environment());
  EXPECT_THAT(program.ReadAll(), HasSubstr("cannot start a thread"));
  EXPECT_EQ(program.Wait(), 1);
}

}  // namespace
}  // namespace attune
