#include "server/call_monitor.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/open_calls_page.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// What is logged while `run` runs.
template <typename Run>
std::string Logged(Run run) {
  ::testing::internal::CaptureStderr();
  run();
  return ::testing::internal::GetCapturedStderr();
}

TEST(CallMonitorTest, ACallEndsOnceWithItsFirstStatus) {
  CallMonitor monitor(false);
  {
    const auto record = monitor.Begin({.method = RpcMethod::kEncode, .peer = "peer"});
    record->Finish(absl::ResourceExhaustedError("full"));
    record->Finish(absl::OkStatus());
  }
  const std::string text = monitor.metrics().Text();
  EXPECT_THAT(text, HasSubstr("attune_rpc_in_flight{method=\"Encode\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("count{code=\"RESOURCE_EXHAUSTED\",method=\"Encode\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("count{code=\"OK\",method=\"Encode\"} 0\n"));
}

TEST(CallMonitorTest, ACallThatNobodyFinishedIsNotInFlightForEver) {
  CallMonitor monitor(false);
  monitor.Begin({.method = RpcMethod::kAttend, .peer = "peer"});
  const std::string text = monitor.metrics().Text();
  EXPECT_THAT(text, HasSubstr("attune_rpc_in_flight{method=\"Attend\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("count{code=\"UNKNOWN\",method=\"Attend\"} 1\n"));
}

TEST(CallMonitorTest, TheLineOfACallTellsItsStory) {
  CallMonitor monitor(true);
  const std::string log = Logged([&monitor] {
    const auto record = monitor.Begin({.method = RpcMethod::kEncode,
                                       .peer = "ipv4:127.0.0.1:9",
                                       .request_id = "my-request",
                                       .traceparent = kTraceparent,
                                       .tracestate = {"vendor=told-to-nobody"}});
    record->AddInputs(2, 30);
    const absl::Time now = SteadyNow();
    record->BeginQueue(2, now);
    record->EndQueue(now, now + absl::Milliseconds(7));
    record->EndQueue(now, now + absl::Milliseconds(3));
    record->BeginCompute(now);
    record->EndCompute(now + absl::Milliseconds(5));
    record->Finish(absl::DeadlineExceededError("of \"secret\" text"));
  });
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Json line, ParseJson(log));
  EXPECT_EQ(line["event"], "call");
  EXPECT_EQ(line["request_id"], "my-request");
  EXPECT_EQ(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(line["parent_span_id"], "00f067aa0ba902b7");
  EXPECT_THAT(line["span_id"].get<std::string>(), SizeIs(16));
  EXPECT_EQ(line["method"], "Encode");
  EXPECT_EQ(line["code"], "DEADLINE_EXCEEDED");
  EXPECT_EQ(line["texts"], 2);
  EXPECT_EQ(line["tokens"], 30);
  EXPECT_EQ(line["queue_ms"], 7.0);
  EXPECT_EQ(line["compute_ms"], 5.0);
  EXPECT_TRUE(line["total_ms"].is_number());
  EXPECT_EQ(line["peer"], "ipv4:127.0.0.1:9");
  EXPECT_THAT(log, ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("told-to-nobody")));
}

TEST(CallMonitorTest, WithoutAnAccessLogNothingIsWritten) {
  CallMonitor monitor(false);
  EXPECT_THAT(
      Logged([&monitor] {
        monitor.Begin({.method = RpcMethod::kEncode, .peer = "p"})->Finish(absl::OkStatus());
      }),
      IsEmpty());
}

TEST(CallMonitorTest, ShowsTheOldestCallsInFlight) {
  CallMonitor monitor(false);
  std::vector<std::shared_ptr<CallRecord>> records;
  for (const char* id : {"a", "b", "c"}) {
    records.push_back(
        monitor.Begin({.method = RpcMethod::kStreamEncode, .peer = "peer", .request_id = id}));
  }
  records[1]->AddRequestBytes(12);
  records[0]->Finish(absl::OkStatus());
  size_t count = 0;
  const std::vector<OpenCall> calls = monitor.OpenCalls(1, count);
  EXPECT_EQ(count, 2u);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].origin.request_id, "b");

  ATTUNE_ASSERT_OK_AND_ASSIGN(const Json page, ParseJson(OpenCallsPage(monitor)));
  EXPECT_EQ(page["in_flight"], 2);
  EXPECT_EQ(page["calls"][0]["request_bytes"], 12);
  EXPECT_EQ(page["calls"][1]["request_id"], "c");
  EXPECT_EQ(page["calls"][1]["method"], "StreamEncode");
}

TEST(CallMonitorTest, CallsComeAndGoOnManyThreadsWhileTheyAreLookedAt) {
  CallMonitor monitor(false);
  constexpr int kThreads = 4;
  constexpr int kCalls = 250;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&monitor] {
      for (int i = 0; i < kCalls; ++i) {
        const auto record = monitor.Begin({.method = RpcMethod::kTokenize, .peer = "p"});
        record->AddInputs(1, 1);
        record->Finish(absl::OkStatus());
      }
    });
  }
  for (int i = 0; i < 50; ++i) OpenCallsPage(monitor);
  for (std::thread& thread : threads) thread.join();
  size_t count = 1;
  EXPECT_THAT(monitor.OpenCalls(10, count), IsEmpty());
  EXPECT_EQ(count, 0u);
  EXPECT_THAT(monitor.metrics().Text(),
              HasSubstr("attune_rpc_started_total{method=\"Tokenize\"} 1000\n"));
}

}  // namespace
}  // namespace attune
