// The wall clock is set while the program runs: nothing that waits or is measured goes by it.

#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/injected_faults.h"
#include "tests/support/http_client.h"
#include "tests/support/running_server.h"
#include "tests/support/slow_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::InjectedFaults;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::Post;
using ::attune::testing::RunningServer;
using ::attune::testing::SlowModel;
using ::attune::testing::TempDir;
using ::attune::testing::TextOf512Tokens;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::HasSubstr;

// Set forward, and set back.
class ClockTest : public ::testing::TestWithParam<absl::Duration> {
 protected:
  void SetClock() { faults_.SetWallClock(GetParam()); }

  InjectedFaults faults_;
};

INSTANTIATE_TEST_SUITE_P(SetBy, ClockTest, ::testing::Values(absl::Hours(24), -absl::Hours(24)),
                         [](const ::testing::TestParamInfo<absl::Duration>& day) {
                           return day.param > absl::ZeroDuration() ? "ADayForward" : "ADayBack";
                         });

TEST_P(ClockTest, WhatIsUnderWayIsAnswered) {
  const TinyModel model(SlowModel());
  RunningServer running(model.path(), {"--threads", "1"}, faults_.environment());
  std::vector<std::future<EncodeResult>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::async(std::launch::async, [&] {
      return Encode(running.stub(), std::vector<std::string>(3, TextOf512Tokens()));
    }));
  }
  std::future<int> http = std::async(std::launch::async, [&] {
    return Post(running.http_port(), "/v1/encode",
                absl::StrCat(R"({"texts": {"values": [")", TextOf512Tokens(), R"(", ")",
                             TextOf512Tokens(), R"("]}})"))
        .status;
  });
  running.WaitForMetric("attune_rpc_in_flight{method=\"Encode\"}", 4);
  SetClock();
  for (std::future<EncodeResult>& call : calls) EXPECT_THAT(call.get().status, IsGrpcOk());
  EXPECT_EQ(http.get(), 200);
  EXPECT_EQ(running.Stop(), 0);
}

TEST_P(ClockTest, DeadlinesAndWaitsAreWhatTheyWere) {
  const TinyModel model(SlowModel());
  RunningServer running(model.path(), {"--threads", "1", "--max-deadline", "2s"},
                        faults_.environment());
  SetClock();
  // The server's deadline, since gRPC's client would end the call at its own whatever the server
  // did.
  const EncodeResult late =
      Encode(running.stub(), std::vector<std::string>(1'000, TextOf512Tokens()));
  EXPECT_EQ(late.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(late.status.error_message(), HasSubstr("before the work was done"));
  EXPECT_THAT(Encode(running.stub(), {"the cat"}).status, IsGrpcOk());
  for (const auto& [series, value] : running.Metrics()) {
    if (series.find("_seconds_sum") == std::string::npos) continue;
    EXPECT_GE(value, 0) << series;
    EXPECT_LT(value, 3600) << series;
  }
  EXPECT_EQ(running.Stop(), 0);
}

TEST_P(ClockTest, AStreamThatIsReadIsNotTakenForStalled) {
  TinyModelOptions options = SlowModel();
  options.layers = 8;  // enough that the server waits for us
  const TinyModel model(options);
  RunningServer running(model.path(), {}, faults_.environment());
  const auto context = WithDeadline();
  v1::StreamAttentionMapRequest request;
  request.mutable_query()->set_text(TextOf512Tokens());
  const auto stream = running.stub().StreamAttentionMap(context.get(), request);
  v1::StreamAttentionMapResponse message;
  int messages = 0;
  while (stream->Read(&message)) {
    if (++messages != 3) continue;
    // By now the server waits for us to take what it has written.
    absl::SleepFor(absl::Milliseconds(200));
    SetClock();
    absl::SleepFor(absl::Seconds(2));  // longer than it takes to look for stalled streams
  }
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
  EXPECT_TRUE(message.has_trailer());
  EXPECT_EQ(running.Stop(), 0);
}

TEST_P(ClockTest, ANewTokenIsNoticedAndTheLogGoesOn) {
  const TinyModel model;
  const TempDir files;
  files.Write("tokens", absl::StrCat("alice:", Sha256Hex("old"), "\n"));
  RunningServer running(model.path(),
                        {"--token-file", files.Path("tokens"), "--access-log", "true"},
                        faults_.environment());
  const auto encode_with = [&running](const std::string& token) {
    const auto context = WithDeadline();
    context->AddMetadata("authorization", absl::StrCat("Bearer ", token));
    v1::EncodeRequest request;
    request.mutable_texts()->add_values("the cat");
    v1::EncodeResponse response;
    return running.stub().Encode(context.get(), request, &response).ok();
  };
  EXPECT_TRUE(encode_with("old"));
  const std::string before = running.program().ReadUntil("\"call\"");
  SetClock();
  files.Write("tokens", absl::StrCat("alice:", Sha256Hex("new"), "\n"));
  // Of each event the log takes ten lines a second.
  const absl::Duration pace = absl::Milliseconds(150);
  while (!encode_with("new")) absl::SleepFor(pace);
  EXPECT_FALSE(encode_with("old"));

  const auto time_of = [](const std::string& line) {
    absl::Time time;
    const absl::StatusOr<Json> parsed = ParseJson(line);
    EXPECT_TRUE(parsed.ok() &&
                absl::ParseTime(absl::RFC3339_full, parsed->value("ts", ""), &time, nullptr))
        << line;
    return time;
  };
  // What people read is the clock that they set, if a second or two later.
  const absl::Time set = time_of(before) + GetParam();
  do {
    absl::SleepFor(pace);
    ASSERT_TRUE(encode_with("new"));
  } while (absl::AbsDuration(time_of(running.program().ReadUntil("\"code\":\"OK\"")) - set) >
           absl::Hours(1));
  EXPECT_EQ(running.Stop(), 0);
}

TEST_P(ClockTest, ADrainTakesTheTimeItWasGiven) {
  const TinyModel model;
  RunningServer running(model.path(), {"--drain-delay", "2s"}, faults_.environment());
  running.program().Signal(SIGTERM);
  EXPECT_NE(running.program().ReadUntil("\"draining\""), "");
  SetClock();
  EXPECT_THAT(Encode(running.stub(), {"the cat"}).status, IsGrpcOk());
  EXPECT_THAT(running.program().ReadUntil("\"stopped\""),
              HasSubstr("every admitted request was answered"));
  EXPECT_EQ(running.program().Wait(), 0);
}

TEST_P(ClockTest, WhatStillRunsWhenADrainIsOverIsCutOff) {
  const TinyModel model(SlowModel());
  RunningServer running(model.path(),
                        {"--threads", "1", "--drain-timeout", "1s", "--max-deadline", "1h"},
                        faults_.environment());
  // Takes longer than a test may.
  v1::EncodeRequest request;
  for (int i = 0; i < 1'000; ++i) request.mutable_texts()->add_values(TextOf512Tokens());
  std::future<grpc::StatusCode> call = std::async(std::launch::async, [&] {
    v1::EncodeResponse response;
    const auto context = WithDeadline(absl::Minutes(10));
    return running.stub().Encode(context.get(), request, &response).error_code();
  });
  running.WaitForMetric("attune_rpc_in_flight{method=\"Encode\"}", 1);
  SetClock();
  running.program().Signal(SIGTERM);
  EXPECT_THAT(running.program().ReadUntil("\"stopped\""), HasSubstr("requests were still running"));
  EXPECT_NE(call.get(), grpc::StatusCode::OK);
  EXPECT_NE(running.program().Wait(), 0);
}

}  // namespace
}  // namespace attune
