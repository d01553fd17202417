// There is no memory for a request: it ends with the documented error, or with its right answer,
// and the server answers the next.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/error_details.h"
#include "client/grpc_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/injected_faults.h"
#include "tests/support/http_client.h"
#include "tests/support/running_server.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::HttpReply;
using ::attune::testing::InjectedFaults;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::Post;
using ::attune::testing::RunningServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

// Above what gRPC has allocated for a message of ours while it reads it, where a failure ends the
// process: it is not made for exceptions.
constexpr int64_t kLarge = 16 << 10;
// A reload makes more of these than a test has time for; of those there are a few.
constexpr int64_t kVeryLarge = 96 << 10;
constexpr int kMostAllocations = 500;

// The maps of a text of 64 tokens take 256 KiB, and their vectors 32.
TinyModelOptions WideModel() {
  TinyModelOptions options;
  options.heads = 8;
  options.hidden = 128;
  return options;
}

std::string Text(int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += i % 3 == 0 ? "cat " : "mat ";
  return text;
}

// How a request ended: an error's reason, or the bytes of the answer.
struct Outcome {
  std::string reason;
  std::string answer;
};

Outcome OutcomeOf(const grpc::Status& status, const std::string& answer) {
  if (status.ok()) return {"", answer};
  return {ReasonOfError(ToAbslStatus(status)).value_or(status.error_message()), ""};
}

class OutOfMemoryTest : public ::testing::Test {
 protected:
  OutOfMemoryTest() : model_(WideModel()), running_(model_.path(), {}, faults_.environment()) {}

  ~OutOfMemoryTest() override { EXPECT_EQ(running_.Stop(), 0); }

  HttpReply PostTexts(int count) {
    std::string json = R"({"texts": {"values": ["the cat")";
    for (int i = 1; i < count; ++i) json += R"(, "the cat sat")";
    return Post(running_.http_port(), "/v1/encode", json + "]}}");
  }

  // Asks again and again, while the first, second, ... large allocation fails, until none is left.
  void FailEachAllocationOf(const std::function<Outcome()>& ask) {
    const Outcome right = ask();
    ASSERT_EQ(right.reason, "");
    int refused = 0;
    bool all = false;
    for (int spared = 0; !all && spared < kMostAllocations; ++spared) {
      const int64_t before = faults_.failed_allocations();
      faults_.FailOneAllocation(kLarge, spared);
      const Outcome outcome = ask();
      faults_.FailNoAllocation();
      if (outcome.reason.empty()) {
        EXPECT_EQ(outcome.answer, right.answer) << spared;
      } else {
        EXPECT_EQ(outcome.reason, "OUT_OF_MEMORY") << spared;
        ++refused;
      }
      const Outcome next = ask();
      ASSERT_EQ(next.reason, "") << spared;
      EXPECT_EQ(next.answer, right.answer) << spared;
      all = faults_.failed_allocations() == before;
    }
    EXPECT_TRUE(all);
    EXPECT_GT(refused, 0);
    ExpectNothingLeft();
  }

  void ExpectNothingLeft() {
    int gauges = 0;
    for (const auto& [series, value] : running_.Metrics()) {
      const bool held = absl::StartsWith(series, "attune_rpc_in_flight") ||
                        series == "attune_queue_tokens" || series == "attune_queue_depth" ||
                        series == "attune_pending_bytes" || series == "attune_attention_streams" ||
                        series == "attune_attention_reserved_bytes";
      if (!held) continue;
      ++gauges;
      running_.WaitForMetric(series, 0);
    }
    EXPECT_GE(gauges, 6);
  }

  InjectedFaults faults_;
  const TinyModel model_;
  RunningServer running_;
};

TEST_F(OutOfMemoryTest, WhatIsRefusedCanBeSentAgainAndSmallRequestsAreAnsweredMeanwhile) {
  v1::AttentionMapRequest map;
  map.mutable_query()->set_text(Text(62));
  v1::AttentionMapResponse response;
  {
    faults_.FailAllocations(kVeryLarge);
    const auto context = WithDeadline();
    const absl::Status refused =
        ToAbslStatus(running_.stub().AttentionMap(context.get(), map, &response));
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(ReasonOfError(refused), "OUT_OF_MEMORY");
    EXPECT_GT(RetryDelayOfError(refused), absl::ZeroDuration());
    EXPECT_THAT(context->GetServerTrailingMetadata(), Contains(Key("grpc-retry-pushback-ms")));
    const HttpReply refused_json = PostTexts(1000);
    EXPECT_EQ(refused_json.status, 429);
    EXPECT_THAT(refused_json.body, HasSubstr("\"OUT_OF_MEMORY\""));
    EXPECT_THAT(refused_json.headers, Contains(Key("retry-after-ms")));
    EXPECT_THAT(Encode(running_.stub(), {"the cat"}).status, IsGrpcOk());
    EXPECT_EQ(PostTexts(1).status, 200);
    faults_.FailNoAllocation();
  }
  const auto context = WithDeadline();
  EXPECT_THAT(running_.stub().AttentionMap(context.get(), map, &response), IsGrpcOk());
  EXPECT_EQ(PostTexts(1000).status, 200);
}

TEST_F(OutOfMemoryTest, ManyTexts) {
  v1::EncodeRequest request;
  for (int i = 0; i < 1000; ++i) request.mutable_texts()->add_values("the cat sat");
  FailEachAllocationOf([&] {
    v1::EncodeResponse response;
    const auto context = WithDeadline();
    const grpc::Status status = running_.stub().Encode(context.get(), request, &response);
    return OutcomeOf(status, response.SerializeAsString());
  });
}

TEST_F(OutOfMemoryTest, ALargeMap) {
  v1::AttentionMapRequest request;
  request.mutable_query()->set_text(Text(62));
  FailEachAllocationOf([&] {
    v1::AttentionMapResponse response;
    const auto context = WithDeadline();
    const grpc::Status status = running_.stub().AttentionMap(context.get(), request, &response);
    return OutcomeOf(status, response.data());
  });
}

TEST_F(OutOfMemoryTest, AStreamOfMaps) {
  v1::StreamAttentionMapRequest request;
  request.mutable_query()->set_text(Text(62));
  FailEachAllocationOf([&] {
    const auto context = WithDeadline();
    const auto stream = running_.stub().StreamAttentionMap(context.get(), request);
    std::string data;
    v1::StreamAttentionMapResponse message;
    while (stream->Read(&message)) data += message.chunk().data();
    return OutcomeOf(stream->Finish(), data);
  });
}

TEST_F(OutOfMemoryTest, AStreamOfTexts) {
  FailEachAllocationOf([&]() -> Outcome {
    const auto context = WithDeadline();
    const auto stream = running_.stub().StreamEncode(context.get());
    v1::StreamEncodeRequest item;
    item.mutable_options()->set_pooling(v1::POOLING_NONE);
    item.set_text(Text(62));
    stream->Write(item);
    stream->WritesDone();
    v1::StreamEncodeResponse answer;
    EXPECT_TRUE(stream->Read(&answer));
    const grpc::Status status = stream->Finish();
    if (!status.ok() || !answer.has_error()) {
      return OutcomeOf(status, answer.embedding().SerializeAsString());
    }
    const std::string details = answer.error().SerializeAsString();
    return {absl::StrContains(details, "OUT_OF_MEMORY") ? "OUT_OF_MEMORY" : details, ""};
  });
}

TEST_F(OutOfMemoryTest, HeadStatistics) {
  FailEachAllocationOf([&] {
    const auto context = WithDeadline();
    v1::HeadStatisticsResponse response;
    const auto stream = running_.stub().HeadStatistics(context.get(), &response);
    v1::HeadStatisticsRequest text;
    text.set_text(Text(62));
    stream->Write(text);
    stream->WritesDone();
    return OutcomeOf(stream->Finish(), response.SerializeAsString());
  });
}

TEST_F(OutOfMemoryTest, ManyTokens) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values(Text(3'000));
  FailEachAllocationOf([&] {
    v1::TokenizeResponse response;
    const auto context = WithDeadline();
    const grpc::Status status = running_.stub().Tokenize(context.get(), request, &response);
    return OutcomeOf(status, response.SerializeAsString());
  });
}

TEST_F(OutOfMemoryTest, JsonOverHttp) {
  FailEachAllocationOf([&]() -> Outcome {
    const HttpReply reply = PostTexts(1000);
    if (reply.status == 200) return {"", reply.body};
    const bool documented = reply.status == 429 && absl::StrContains(reply.body, "OUT_OF_MEMORY");
    return {documented ? "OUT_OF_MEMORY" : absl::StrCat(reply.status, " ", reply.body), ""};
  });
}

TEST_F(OutOfMemoryTest, AReloadKeepsTheModel) {
  const auto ask = [&] {
    v1::EncodeRequest request;
    request.mutable_texts()->add_values("the cat sat");
    v1::EncodeResponse response;
    const auto context = WithDeadline();
    const grpc::Status status = running_.stub().Encode(context.get(), request, &response);
    return OutcomeOf(status, response.SerializeAsString());
  };
  const Outcome right = ask();
  bool failed = false;
  bool all = false;
  for (int spared = 0; !all && spared < kMostAllocations; ++spared) {
    const int64_t before = faults_.failed_allocations();
    faults_.FailOneAllocation(kVeryLarge, spared);
    failed |= absl::StrContains(running_.Reload(), "\"reload_failed\"");
    faults_.FailNoAllocation();
    const Outcome next = ask();
    EXPECT_EQ(next.reason, "");
    EXPECT_EQ(next.answer, right.answer);
    all = faults_.failed_allocations() == before;
  }
  EXPECT_TRUE(all);
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace attune
