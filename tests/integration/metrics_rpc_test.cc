// What /metrics says after calls of every kind.

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/metrics_text.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::CallRaw;
using ::attune::testing::Encode;
using ::attune::testing::Get;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::ParseMetrics;
using ::attune::testing::Post;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::Key;
using ::testing::SizeIs;

ServerOptions OpsOptions(const TinyModel& model) {
  ServerOptions options = TestOptions(model.path());
  options.http_address = "127.0.0.1:0";
  options.ops_address = "127.0.0.1:0";
  options.threads = 1;
  return options;
}

class MetricsRpcTest : public ::testing::Test {
 protected:
  MetricsRpcTest() : server_(OpsOptions(model_)), start_(Scrape()) {}

  std::map<std::string, double> Scrape() {
    const HttpReply reply = Get(server_.server().ops_port(), "/metrics");
    EXPECT_EQ(reply.status, 200);
    return ParseMetrics(reply.body);
  }

  // By how much `series` has grown since the server started.
  double Grown(const std::string& series) {
    const std::map<std::string, double> now = Scrape();
    EXPECT_THAT(now, Contains(Key(series)));
    return now.at(series) - start_.at(series);
  }

  TinyModel model_;
  TestServer server_;
  const std::map<std::string, double> start_;
};

std::string Count(const std::string& method, const std::string& code) {
  return absl::StrCat("attune_rpc_duration_seconds_count{code=\"", code, "\",method=\"", method,
                      "\"}");
}

TEST_F(MetricsRpcTest, UnaryCallsAreCountedByMethodAndCode) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Encode(server_.stub(), {"the cat", "a dog"}).status, IsGrpcOk());
  }
  EXPECT_THAT(Encode(server_.stub(), std::vector<std::string>()).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, ""));
  EXPECT_EQ(Grown("attune_rpc_started_total{method=\"Encode\"}"), 4);
  EXPECT_EQ(Grown(Count("Encode", "OK")), 3);
  EXPECT_EQ(Grown(Count("Encode", "INVALID_ARGUMENT")), 1);
  EXPECT_EQ(Grown("attune_rpc_request_bytes_count{method=\"Encode\"}"), 4);
  EXPECT_GT(Grown("attune_rpc_request_bytes_sum{method=\"Encode\"}"), 3 * 12);
  EXPECT_GT(Grown("attune_rpc_response_bytes_sum{method=\"Encode\"}"), 3 * 2 * 16 * 4);
  EXPECT_EQ(Scrape().at("attune_rpc_in_flight{method=\"Encode\"}"), 0);
  EXPECT_EQ(Scrape().at("attune_ready"), 1);
}

TEST_F(MetricsRpcTest, WorkIsCountedInTextsTokensAndBatches) {
  ASSERT_THAT(Encode(server_.stub(), {"the cat sat"}).status, IsGrpcOk());
  // The worker counts a batch once it has answered it.
  for (int i = 0; i < 10'000 && Grown("attune_compute_seconds_count") == 0; ++i) {
  }
  EXPECT_EQ(Grown("attune_batch_items_count"), 1);
  EXPECT_EQ(Grown("attune_batch_items_sum"), 1);
  EXPECT_EQ(Grown("attune_batch_tokens_sum"), 5);  // with [CLS] and [SEP]
  EXPECT_EQ(Grown("attune_compute_seconds_count"), 1);
  EXPECT_EQ(Grown("attune_tokenize_seconds_count"), 1);
  EXPECT_EQ(Grown("attune_truncated_texts_total"), 0);
  EXPECT_EQ(Scrape().at("attune_queue_tokens"), 0);

  std::string text = "cat";
  for (int i = 0; i < 100; ++i) text += " cat";
  v1::EncodeOptions cut;
  cut.set_truncation(v1::TRUNCATION_RIGHT);
  ASSERT_THAT(Encode(server_.stub(), {text, "the dog", text}, cut).status, IsGrpcOk());
  EXPECT_EQ(Grown("attune_truncated_texts_total"), 2);
}

TEST_F(MetricsRpcTest, AStreamCountsAsOneCall) {
  const auto context = WithDeadline();
  const auto stream = server_.stub().StreamEncode(context.get());
  v1::StreamEncodeRequest request;
  v1::StreamEncodeResponse response;
  for (int i = 0; i < 5; ++i) {
    request.set_text("the cat");
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
  }
  EXPECT_EQ(Scrape().at("attune_rpc_in_flight{method=\"StreamEncode\"}"), 1);
  stream->WritesDone();
  ASSERT_THAT(stream->Finish(), IsGrpcOk());
  EXPECT_EQ(Grown("attune_rpc_started_total{method=\"StreamEncode\"}"), 1);
  EXPECT_EQ(Grown(Count("StreamEncode", "OK")), 1);
  EXPECT_EQ(Grown("attune_rpc_response_bytes_count{method=\"StreamEncode\"}"), 1);
  EXPECT_GT(Grown("attune_rpc_response_bytes_sum{method=\"StreamEncode\"}"), 5 * 16 * 4);
  EXPECT_GT(Grown("attune_rpc_request_bytes_sum{method=\"StreamEncode\"}"), 5 * 7);
  EXPECT_EQ(Grown("attune_stream_stall_seconds_count"), 5);
}

TEST_F(MetricsRpcTest, AttentionAndStatisticsStreamsAreCountedToo) {
  {
    const auto context = WithDeadline();
    v1::StreamAttentionMapRequest request;
    request.mutable_query()->set_text("the cat sat");
    const auto stream = server_.stub().StreamAttentionMap(context.get(), request);
    v1::StreamAttentionMapResponse response;
    while (stream->Read(&response)) {
    }
    ASSERT_THAT(stream->Finish(), IsGrpcOk());
  }
  {
    const auto context = WithDeadline();
    v1::HeadStatisticsResponse response;
    const auto stream = server_.stub().HeadStatistics(context.get(), &response);
    stream->WritesDone();
    EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "no text"));
  }
  EXPECT_EQ(Grown(Count("StreamAttentionMap", "OK")), 1);
  EXPECT_EQ(Grown(Count("HeadStatistics", "INVALID_ARGUMENT")), 1);
  EXPECT_EQ(Scrape().at("attune_attention_streams"), 0);
  EXPECT_EQ(Scrape().at("attune_attention_reserved_bytes"), 0);
}

TEST_F(MetricsRpcTest, HttpCallsAreCallsOfTheSameMethods) {
  const int port = server_.server().http_port();
  EXPECT_EQ(Post(port, "/v1/encode", R"({"texts": {"values": ["the cat"]}})").status, 200);
  EXPECT_EQ(Post(port, "/v1/encode", R"({"texts": )").status, 400);
  EXPECT_EQ(Get(port, "/v1/model").status, 200);
  EXPECT_EQ(Get(port, "/v1/nothing").status, 404);
  EXPECT_EQ(Grown(Count("Encode", "OK")), 1);
  EXPECT_EQ(Grown(Count("Encode", "INVALID_ARGUMENT")), 1);
  EXPECT_EQ(Grown(Count("GetModel", "OK")), 1);
}

TEST_F(MetricsRpcTest, AHundredUnknownMethodsAreOneSeries) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(CallRaw(server_, absl::StrCat("/attune.v1.EncoderService/Nothing", i)),
                GrpcStatusIs(grpc::StatusCode::UNIMPLEMENTED, "no such method"));
  }
  EXPECT_EQ(Grown("attune_rpc_started_total{method=\"_OTHER\"}"), 100);
  EXPECT_EQ(Grown(Count("_OTHER", "UNIMPLEMENTED")), 100);
  EXPECT_THAT(Scrape(), SizeIs(start_.size()));
}

TEST_F(MetricsRpcTest, TheModelAndTheBuildHaveTheirNamesOn) {
  v1::GetModelResponse model;
  const auto context = WithDeadline();
  ASSERT_THAT(server_.stub().GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
  const std::string info = absl::StrCat(
      "attune_model_info{dtype=\"f32\",isa=\"", model.isa(), "\",name=\"", model.name(),
      "\",sha256=\"", model.revision(), "\",version=\"", model.revision().substr(0, 12), "\"}");
  EXPECT_THAT(Scrape(), Contains(::testing::Pair(info, 1)));
}

}  // namespace
}  // namespace attune
