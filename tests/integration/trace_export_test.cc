// Traced calls reach a collector as spans, and a collector that does not take them harms no call.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/otlp_receiver.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::OtlpReceiver;
using ::attune::testing::PostRequest;
using ::attune::testing::ReceivedSpan;
using ::attune::testing::SendRequest;
using ::attune::testing::StatusIs;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
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
constexpr char kEncode[] = "attune.v1.EncoderService/Encode";

class TraceExportTest : public ::testing::Test {
 protected:
  std::unique_ptr<TestServer> Serve(const std::string& endpoint) {
    ServerOptions options = TestOptions(model_.path());
    options.http_address = "127.0.0.1:0";
    options.otlp_endpoint = endpoint;
    return std::make_unique<TestServer>(options);
  }

  static grpc::Status EncodeTraced(v1::EncoderService::Stub& stub,
                                   const std::vector<std::string>& texts,
                                   const std::string& traceparent = kSampled,
                                   const std::vector<std::string>& tracestate = {}) {
    const auto context = WithDeadline();
    context->AddMetadata("traceparent", traceparent);
    for (const std::string& line : tracestate) context->AddMetadata("tracestate", line);
    v1::EncodeRequest request;
    for (const std::string& text : texts) request.mutable_texts()->add_values(text);
    v1::EncodeResponse response;
    return stub.Encode(context.get(), request, &response);
  }

  // The one span of this name; fails the test if it is not one.
  static ReceivedSpan Only(const std::vector<ReceivedSpan>& spans, const std::string& name) {
    EXPECT_THAT(spans, Contains(Field(&ReceivedSpan::name, name)).Times(1));
    const auto found = std::find_if(spans.begin(), spans.end(), [&name](const ReceivedSpan& span) {
      return span.name == name;
    });
    return found == spans.end() ? ReceivedSpan() : *found;
  }

  TinyModel model_;
  OtlpReceiver collector_;
};

TEST_F(TraceExportTest, ACallIsASpanOfItsCallersTraceAndItsPartsAreWithinIt) {
  const auto server = Serve(collector_.endpoint());
  ASSERT_THAT(EncodeTraced(server->stub(), {"the cat sat"}, kSampled, {"rojo=1", "congo=2"}),
              IsGrpcOk());
  const std::vector<ReceivedSpan> spans = collector_.WaitForSpans(4);
  ASSERT_THAT(spans, SizeIs(4));
  EXPECT_THAT(spans, Each(Field(&ReceivedSpan::trace_id, kTraceId)));
  EXPECT_THAT(spans, Each(Field(&ReceivedSpan::trace_state, "rojo=1,congo=2")));
  EXPECT_THAT(spans,
              Each(Field(&ReceivedSpan::resource, Contains(Pair("service.name", "attune")))));

  const ReceivedSpan call = Only(spans, kEncode);
  EXPECT_EQ(call.kind, "SPAN_KIND_SERVER");
  EXPECT_EQ(call.parent_span_id, kParent);
  EXPECT_EQ(call.status, "");
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.system", "grpc")));
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.service", "attune.v1.EncoderService")));
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.method", "Encode")));
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.grpc.status_code", "0")));
  EXPECT_THAT(call.attributes, Contains(Pair("attune.texts", "1")));

  int64_t before = call.start_ns;
  for (const char* name : {"tokenize", "queue", "compute"}) {
    const ReceivedSpan part = Only(spans, name);
    EXPECT_EQ(part.kind, "SPAN_KIND_INTERNAL") << name;
    EXPECT_EQ(part.parent_span_id, call.span_id) << name;
    EXPECT_THAT(part.span_id, MatchesRegex("[0-9a-f]{16}")) << name;
    EXPECT_LE(before, part.start_ns) << name << " begins when the one before it has ended";
    EXPECT_LE(part.start_ns, part.end_ns) << name;
    EXPECT_LE(part.end_ns, call.end_ns) << name;
    before = part.end_ns;
  }
}

TEST_F(TraceExportTest, CallsOverHttpAreTracedToo) {
  const auto server = Serve(collector_.endpoint());
  const std::string headers = std::string("Content-Type: application/json\r\ntraceparent: ") +
                              kSampled + "\r\nTraceState: rojo=1, congo=2\r\n";
  const std::string body = R"({"texts": {"values": ["the cat sat"]}})";
  const auto reply =
      SendRequest(server->server().http_port(), PostRequest("/v1/encode", body, headers));
  ASSERT_EQ(reply.status, 200);
  const ReceivedSpan call = Only(collector_.WaitForSpans(4), kEncode);
  EXPECT_EQ(call.trace_id, kTraceId);
  EXPECT_EQ(call.parent_span_id, kParent);
  EXPECT_EQ(call.trace_state, "rojo=1,congo=2");
  EXPECT_THAT(call.attributes, Contains(Pair("attune.texts", "1")));
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.system", "http_json")));
  EXPECT_THAT(call.attributes, Not(Contains(Key("rpc.grpc.status_code"))));
}

TEST_F(TraceExportTest, AnErrorOfTheCallerIsItsCodeAndNoFailure) {
  const auto server = Serve(collector_.endpoint());
  EXPECT_THAT(EncodeTraced(server->stub(), {}),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, ""));
  const ReceivedSpan refused = Only(collector_.WaitForSpans(1), kEncode);
  EXPECT_THAT(refused.attributes, Contains(Pair("rpc.grpc.status_code", "3")));
  EXPECT_THAT(refused.attributes, Contains(Pair("error.type", "INVALID_ARGUMENT")));
  EXPECT_EQ(refused.status, "");
}

TEST_F(TraceExportTest, AnErrorOfTheServerIsAFailure) {
  ServerOptions options = TestOptions(model_.path());
  options.otlp_endpoint = collector_.endpoint();
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> loading, Server::Bind(options));
  const auto stub = v1::EncoderService::NewStub(grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", loading->port()), grpc::InsecureChannelCredentials()));
  EXPECT_THAT(EncodeTraced(*stub, {"the cat"}), GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, ""));
  const ReceivedSpan refused = Only(collector_.WaitForSpans(1), kEncode);
  EXPECT_THAT(refused.attributes, Contains(Pair("rpc.grpc.status_code", "14")));
  EXPECT_EQ(refused.status, "STATUS_CODE_ERROR");
}

TEST_F(TraceExportTest, OnlyWhatTheCallerSamplesIsExportedAndNeverText) {
  const auto server = Serve(collector_.endpoint());
  ASSERT_THAT(Encode(server->stub(), {"the dog"}).status, IsGrpcOk());
  ASSERT_THAT(EncodeTraced(server->stub(), {"the dog"}, kNotSampled), IsGrpcOk());
  ASSERT_THAT(EncodeTraced(server->stub(), {"the dog"}, "nonsense"), IsGrpcOk());
  ASSERT_THAT(EncodeTraced(server->stub(), {"the cat sat", "the mat"}), IsGrpcOk());
  server->server().Drain();
  EXPECT_THAT(collector_.spans(), SizeIs(4));
  for (const char* text : {"cat", "mat", "dog"}) {
    EXPECT_THAT(collector_.bytes(), Not(HasSubstr(text)));
  }
}

TEST_F(TraceExportTest, ADrainSendsWhatIsLeft) {
  const auto server = Serve(collector_.endpoint());
  for (int i = 0; i < 20; ++i) ASSERT_THAT(EncodeTraced(server->stub(), {"the cat"}), IsGrpcOk());
  server->server().Drain();
  EXPECT_THAT(collector_.spans(), SizeIs(80));
}

TEST_F(TraceExportTest, ACollectorThatHangsHoldsUpNobody) {
  OtlpReceiver hanging(OtlpReceiver::Behaviour::kHang);
  const auto server = Serve(hanging.endpoint());
  // More than the queue holds, so that some find it full.
  for (int i = 0; i < 3'000; ++i) {
    ASSERT_THAT(EncodeTraced(server->stub(), {"the cat"}), IsGrpcOk()) << i;
  }
  server->server().Drain();
}

TEST_F(TraceExportTest, ThatNobodyListensIsLogged) {
  std::string endpoint;
  {
    const OtlpReceiver gone;
    endpoint = gone.endpoint();
  }
  const std::string line = "\"event\":\"trace_export\"";
  std::string log;
  // Another test of this process may have had this second's line already.
  for (int i = 0; i < 1'000 && log.find(line) == std::string::npos; ++i) {
    ::testing::internal::CaptureStderr();
    {
      const auto server = Serve(endpoint);
      EXPECT_THAT(EncodeTraced(server->stub(), {"the cat"}), IsGrpcOk());
    }
    log = ::testing::internal::GetCapturedStderr();
  }
  EXPECT_THAT(log, HasSubstr(line));
}

TEST_F(TraceExportTest, VariablesSayWhoseSpansTheseAreButDoNotTurnTheExportOn) {
  setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector_.endpoint().c_str(), /*overwrite=*/1);
  setenv("OTEL_SERVICE_NAME", "encoder-of-mine", /*overwrite=*/1);
  {
    const auto server = Serve("");
    ASSERT_THAT(EncodeTraced(server->stub(), {"the cat"}), IsGrpcOk());
  }
  EXPECT_THAT(collector_.spans(), IsEmpty());
  {
    const auto server = Serve(collector_.endpoint());
    ASSERT_THAT(EncodeTraced(server->stub(), {"the cat"}), IsGrpcOk());
  }
  unsetenv("OTEL_SERVICE_NAME");
  unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
  EXPECT_THAT(collector_.spans(), SizeIs(4));
  EXPECT_THAT(collector_.spans(), Each(Field(&ReceivedSpan::resource,
                                             Contains(Pair("service.name", "encoder-of-mine")))));
}

TEST_F(TraceExportTest, AnEndpointThatIsNoneStopsTheStart) {
  for (const char* endpoint : {"collector:4317", "ftp://collector:4317", "http://collector",
                               "http://:4317", "https://", "http://a:b:c"}) {
    ServerOptions options = TestOptions(model_.path());
    options.otlp_endpoint = endpoint;
    EXPECT_THAT(Server::Bind(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--otlp-endpoint is ")))
        << endpoint;
  }
}

}  // namespace
}  // namespace attune
