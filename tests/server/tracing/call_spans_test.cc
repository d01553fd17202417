#include "server/tracing/call_spans.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "engine/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/call_monitor.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00f067aa0ba902b7";
constexpr char kSampled[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kNotSampled[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class KeepingExporter final : public TraceExporter {
 public:
  void Export(const std::vector<Span>& spans) override { calls.push_back(spans); }
  void Flush(absl::Duration /*patience*/) override {}

  std::vector<std::vector<Span>> calls;
};

std::map<std::string, std::string> Texts(const Span& span) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : span.attributes) {
    const auto* number = std::get_if<int64_t>(&value);
    texts[std::string(name)] =
        number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
  }
  return texts;
}

class CallSpansTest : public ::testing::Test {
 protected:
  std::shared_ptr<CallRecord> Begin(absl::string_view traceparent,
                                    RpcMethod method = RpcMethod::kEncode) {
    return monitor_.Begin({.method = method,
                           .request_id = "mine",
                           .traceparent = traceparent,
                           .tracestate = {"vendor=1"}});
  }

  // The spans of a call that was traced and ended with `status`.
  std::vector<Span> SpansOf(CallRecord& record, const absl::Status& status) {
    exporter_.calls.clear();
    record.Finish(status);
    EXPECT_THAT(exporter_.calls, SizeIs(1));
    return exporter_.calls.empty() ? std::vector<Span>() : exporter_.calls.front();
  }

  KeepingExporter exporter_;
  CallMonitor monitor_{false, &exporter_};
};

TEST_F(CallSpansTest, TheCallIsAChildOfItsCallersSpan) {
  const auto record = Begin(kSampled);
  const std::vector<Span> spans = SpansOf(*record, absl::OkStatus());
  ASSERT_THAT(spans, SizeIs(1)) << "it neither waited nor computed";
  const Span& call = spans.front();
  EXPECT_EQ(call.name, "attune.v1.EncoderService/Encode");
  EXPECT_EQ(call.kind, Span::Kind::kServer);
  EXPECT_EQ(call.trace_id, kTraceId);
  EXPECT_EQ(call.parent_span_id, kParent);
  EXPECT_EQ(call.span_id, record->origin().trace.span_id) << "as in the log";
  EXPECT_EQ(call.tracestate, "vendor=1");
  EXPECT_GE(call.time.end, call.time.start);
  EXPECT_FALSE(call.failed);
  const auto attributes = Texts(call);
  EXPECT_THAT(attributes, Contains(Pair("rpc.system", "grpc")));
  EXPECT_THAT(attributes, Contains(Pair("rpc.service", "attune.v1.EncoderService")));
  EXPECT_THAT(attributes, Contains(Pair("rpc.method", "Encode")));
  EXPECT_THAT(attributes, Contains(Pair("rpc.grpc.status_code", "0")));
  EXPECT_THAT(attributes, Contains(Pair("attune.request_id", "mine")));
  EXPECT_THAT(attributes, Not(Contains(Key("error.type"))));
}

TEST_F(CallSpansTest, ItsPartsAreWithinIt) {
  const auto record = Begin(kSampled);
  const absl::Time arrival = record->arrival();
  const auto at = [arrival](int64_t us) { return arrival + absl::Microseconds(us); };
  record->AddInputs(2, 30);
  record->Tokenized({at(1), at(2)}, 0);
  record->BeginQueue(2, at(3));
  record->EndQueue(at(3), at(4));
  record->BeginCompute(at(4));
  record->EndCompute(at(6));
  record->EndQueue(at(3), at(7));
  record->BeginCompute(at(7));
  record->EndCompute(at(9));
  absl::SleepFor(absl::Milliseconds(1));  // the call must end after its parts
  const std::vector<Span> spans = SpansOf(*record, absl::OkStatus());
  ASSERT_THAT(spans, SizeIs(4));
  EXPECT_THAT(Texts(spans[0]), Contains(Pair("attune.texts", "2")));
  EXPECT_THAT(Texts(spans[0]), Contains(Pair("attune.tokens", "30")));
  const std::vector<std::string> names = {"tokenize", "queue", "compute"};
  const std::vector<TimeRange> times = {{at(1), at(2)}, {at(3), at(7)}, {at(4), at(9)}};
  for (size_t i = 0; i < names.size(); ++i) {
    const Span& part = spans[i + 1];
    EXPECT_EQ(part.name, names[i]);
    EXPECT_EQ(part.kind, Span::Kind::kInternal);
    EXPECT_EQ(part.trace_id, kTraceId);
    EXPECT_EQ(part.parent_span_id, spans[0].span_id);
    EXPECT_THAT(part.span_id, MatchesRegex("[0-9a-f]{16}"));
    EXPECT_EQ(part.tracestate, "vendor=1");
    EXPECT_EQ(part.time.start - spans[0].time.start, times[i].start - arrival) << part.name;
    EXPECT_EQ(part.time.end - spans[0].time.start, times[i].end - arrival) << part.name;
  }
}

TEST_F(CallSpansTest, TheirTimesAreThoseOfTheWallClock) {
  const auto record = Begin(kSampled);
  const absl::Time arrival = record->arrival();
  record->BeginCompute(arrival + absl::Microseconds(1));
  record->EndCompute(arrival + absl::Microseconds(2));
  const std::vector<Span> spans =
      SpansOfCall(*record, absl::OkStatus(), arrival + absl::Microseconds(3), -absl::Hours(24));
  const absl::Time yesterday = arrival - absl::Hours(24);
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].time.start, yesterday);
  EXPECT_EQ(spans[0].time.end, yesterday + absl::Microseconds(3));
  EXPECT_EQ(spans[1].time.start, yesterday + absl::Microseconds(1));
  EXPECT_EQ(spans[1].time.end, yesterday + absl::Microseconds(2));
}

TEST_F(CallSpansTest, WorkThatOutlastsItsCallIsCutAtTheCallsEnd) {
  const auto record = Begin(kSampled);
  record->BeginQueue(2, record->arrival());
  record->EndQueue(record->arrival(), record->arrival());
  record->BeginCompute(record->arrival());
  const std::vector<Span> spans = SpansOf(*record, absl::CancelledError("gone"));
  record->EndCompute(SteadyNow());
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_EQ(spans[1].name, "queue") << "a text still waited";
  EXPECT_EQ(spans[1].time.end, spans[0].time.end);
  EXPECT_EQ(spans[2].name, "compute");
  EXPECT_EQ(spans[2].time.end, spans[0].time.end);
}

TEST_F(CallSpansTest, OnlyTheServersFaultsAreFailures) {
  for (const auto& [status, failed] :
       std::vector<std::pair<absl::Status, bool>>{{absl::InternalError("secret"), true},
                                                  {absl::UnavailableError("secret"), true},
                                                  {absl::DeadlineExceededError("secret"), true},
                                                  {absl::InvalidArgumentError("secret"), false},
                                                  {absl::ResourceExhaustedError("secret"), false},
                                                  {absl::CancelledError("secret"), false}}) {
    const std::vector<Span> spans = SpansOf(*Begin(kSampled), status);
    EXPECT_EQ(spans.front().failed, failed) << status;
    const auto attributes = Texts(spans.front());
    EXPECT_THAT(attributes,
                Contains(Pair("rpc.grpc.status_code", std::to_string(status.raw_code()))));
    EXPECT_THAT(attributes, Contains(Pair("error.type", absl::StatusCodeToString(status.code()))));
    for (const auto& [name, value] : attributes) EXPECT_NE(value, "secret") << name;
  }
}

TEST_F(CallSpansTest, ACallOverHttpHasNoGrpcStatus) {
  const auto record = monitor_.Begin(
      {.method = RpcMethod::kAttend, .transport = Transport::kHttp, .traceparent = kSampled});
  const auto attributes = Texts(SpansOf(*record, absl::OkStatus()).front());
  EXPECT_THAT(attributes, Contains(Pair("rpc.system", "http_json")));
  EXPECT_THAT(attributes, Not(Contains(Key("rpc.grpc.status_code"))));
}

TEST_F(CallSpansTest, AMethodThatDoesNotExistHasNoNameFromOutside) {
  const std::vector<Span> spans =
      SpansOf(*Begin(kSampled, RpcMethod::kOther), absl::UnimplementedError(""));
  EXPECT_EQ(spans.front().name, "_OTHER");
  EXPECT_THAT(Texts(spans.front()), Not(Contains(Key("rpc.service"))));
}

TEST_F(CallSpansTest, OnlyCallsThatTheCallerSamplesAreExported) {
  for (const absl::string_view traceparent : {"", "nonsense", kNotSampled}) {
    Begin(traceparent)->Finish(absl::OkStatus());
  }
  EXPECT_THAT(exporter_.calls, IsEmpty());
}

}  // namespace
}  // namespace attune
