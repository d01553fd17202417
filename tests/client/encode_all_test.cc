// Client::EncodeAll against a scripted server.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Optional;

// Long enough never to pass unless the test is about to fail.
constexpr absl::Duration kPatience = absl::Seconds(30);

EncodeSource SourceOf(std::vector<EncodeInput> inputs) {
  return [inputs = std::move(inputs),
          next = size_t{0}]() mutable -> absl::StatusOr<std::optional<EncodeInput>> {
    if (next == inputs.size()) return std::nullopt;
    return inputs[next++];
  };
}

std::vector<EncodeInput> NumberedTexts(int count) {
  std::vector<EncodeInput> texts;
  for (int i = 0; i < count; ++i) texts.push_back(absl::StrCat("text ", i));
  return texts;
}

struct Outcome {
  absl::Status status;
  std::vector<EncodedItem> items;
};

Outcome RunEncodeAll(const FakeServer& server, const EncodeSource& source,
                     const EncodeAllOptions& options) {
  const auto client = Client::Create({.address = server.address()});
  Outcome outcome;
  outcome.status = (*client)->EncodeAll(
      source,
      [&outcome](EncodedItem item) {
        outcome.items.push_back(std::move(item));
        return absl::OkStatus();
      },
      options);
  return outcome;
}

// What the server saw of each request.
class RequestLog {
 public:
  void Add(const v1::EncodeRequest& request) {
    MutexLock lock(mu_);
    const bool texts = request.has_texts();
    items_.push_back(texts ? request.texts().values_size() : request.token_ids().values_size());
    bytes_.push_back(request.ByteSizeLong());
  }
  std::vector<int> items() const {
    MutexLock lock(mu_);
    return items_;
  }
  std::vector<size_t> bytes() const {
    MutexLock lock(mu_);
    return bytes_;
  }

 private:
  mutable Mutex mu_;
  std::vector<int> items_ ABSL_GUARDED_BY(mu_);
  std::vector<size_t> bytes_ ABSL_GUARDED_BY(mu_);
};

FakeEncoder::EncodeFunction LogTo(RequestLog& log) {
  return
      [&log](grpc::ServerContext&, const v1::EncodeRequest& request, v1::EncodeResponse& response) {
        log.Add(request);
        return FakeEncoder::DefaultEncode(request, response);
      };
}

TEST(EncodeAllTest, DeliversEveryResultWithItsInputInOrder) {
  FakeServer server;
  const Outcome outcome =
      RunEncodeAll(server, SourceOf(NumberedTexts(100)), {.max_request_items = 7});
  ASSERT_THAT(outcome.status, IsOk());
  ASSERT_EQ(outcome.items.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(outcome.items[i].index, i);
    EXPECT_EQ(outcome.items[i].input, EncodeInput(absl::StrCat("text ", i)));
    EXPECT_EQ(outcome.items[i].dimension, 4u);
  }
}

TEST(EncodeAllTest, TakesInputsOfEveryKindAndDeliversThemInOrder) {
  FakeServer server;
  const std::vector<EncodeInput> inputs = {
      "text", TextPair{"a", "pair"}, TextPair{"another", "one"}, TokenIdList{1, 2}, "text again"};
  const Outcome outcome = RunEncodeAll(server, SourceOf(inputs), {});
  ASSERT_THAT(outcome.status, IsOk());
  ASSERT_EQ(outcome.items.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(outcome.items[i].input, inputs[i]);
  EXPECT_EQ(outcome.items[1].embedding.tokens, 5u);
  // A request for each run of one kind.
  EXPECT_EQ(server.encoder().CountCalls("Encode"), 4u);
}

TEST(EncodeAllTest, SendsNothingForNoInputs) {
  FakeServer server;
  const Outcome outcome = RunEncodeAll(server, SourceOf({}), {});
  EXPECT_THAT(outcome.status, IsOk());
  EXPECT_EQ(server.encoder().CountCalls("Encode"), 0u);
}

TEST(EncodeAllTest, SplitsByNumberOfItems) {
  FakeServer server;
  RequestLog log;
  server.encoder().encode = LogTo(log);
  RunEncodeAll(server, SourceOf(NumberedTexts(7)),
               {.max_request_items = 3, .requests_in_flight = 1});
  EXPECT_THAT(log.items(), ElementsAre(3, 3, 1));
}

TEST(EncodeAllTest, KeepsRequestsUnderTheServersMessageLimit) {
  FakeServer server;
  RequestLog log;
  server.encoder().encode = LogTo(log);
  constexpr size_t kLimit = 16384;
  server.encoder().model.mutable_limits()->set_max_message_bytes(kLimit);
  const std::vector<EncodeInput> texts(40, std::string(3000, 'x'));
  ASSERT_THAT(RunEncodeAll(server, SourceOf(texts), {}).status, IsOk());
  EXPECT_THAT(log.bytes(), Each(Le(kLimit)));
  EXPECT_EQ(log.items().size(), 10u);  // four fit, with room for the options
}

TEST(EncodeAllTest, KeepsRepliesUnderTheServersMessageLimit) {
  FakeServer server;
  RequestLog log;
  server.encoder().encode = LogTo(log);
  server.encoder().model.mutable_limits()->set_max_message_bytes(4096 + 10'000);
  server.encoder().model.set_dimension(1000);  // 4,020 bytes per embedding, at most
  RunEncodeAll(server, SourceOf(NumberedTexts(6)), {});
  EXPECT_THAT(log.items(), Each(2));
}

TEST(EncodeAllTest, CountsEveryTokenVectorOfAReplyWithoutPooling) {
  FakeServer server;
  RequestLog log;
  server.encoder().encode = LogTo(log);
  server.encoder().model.mutable_limits()->set_max_message_bytes(4096 + 10'000);
  server.encoder().model.set_hidden(100);
  EncodeAllOptions options;
  options.encode.set_pooling(v1::POOLING_NONE);
  // At most 10 + 2 tokens of 400 bytes each: two texts fit a reply.
  RunEncodeAll(server, SourceOf(std::vector<EncodeInput>(6, "ten bytes.")), options);
  EXPECT_THAT(log.items(), Each(2));
}

TEST(EncodeAllTest, DoesNotMixTextsAndTokenIds) {
  FakeServer server;
  RequestLog log;
  server.encoder().encode = LogTo(log);
  const Outcome outcome = RunEncodeAll(server, SourceOf({"a", "b", TokenIdList{101, 102}, "c"}),
                                       {.requests_in_flight = 1});
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_THAT(log.items(), ElementsAre(2, 1, 1));
  EXPECT_EQ(outcome.items[2].input, EncodeInput(TokenIdList{101, 102}));
  EXPECT_EQ(outcome.items[3].index, 3u);
}

TEST(EncodeAllTest, KeepsSeveralRequestsInFlightAndStillDeliversInOrder) {
  FakeServer server;
  Mutex mu;
  CondVar changed;
  int answered = 0;
  bool overlapped = false;
  // The first request is answered only after the second: they must overlap.
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    MutexLock lock(mu);
    if (request.texts().values(0) == "text 0") {
      while (answered == 0 && changed.WaitFor(mu, kPatience)) {
      }
      overlapped = answered > 0;
    }
    ++answered;
    changed.NotifyAll();
    return FakeEncoder::DefaultEncode(request, response);
  };
  const Outcome outcome = RunEncodeAll(server, SourceOf(NumberedTexts(4)),
                                       {.max_request_items = 2, .requests_in_flight = 2});
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_TRUE(overlapped);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(outcome.items[i].index, i);
}

TEST(EncodeAllTest, AnErrorCarriesTheIndexOfItsInput) {
  FakeServer server;
  server.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest& request,
                               v1::EncodeResponse& response) {
    const auto& texts = request.texts().values();
    const auto bad = std::find(texts.begin(), texts.end(), "text 5");
    if (bad == texts.end()) return FakeEncoder::DefaultEncode(request, response);
    return grpc::Status(
        grpc::StatusCode::INVALID_ARGUMENT,
        absl::StrCat("texts.values[", bad - texts.begin(), "]: 300 tokens, the limit is 256"));
  };
  const Outcome outcome =
      RunEncodeAll(server, SourceOf(NumberedTexts(12)), {.max_request_items = 4});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                       "input 5: texts.values[1]: 300 tokens, the limit is 256"));
  EXPECT_THAT(FailedInputIndex(outcome.status), Optional(5u));
  EXPECT_EQ(outcome.items.size(), 4u) << "what came before the failed request is delivered";
}

TEST(EncodeAllTest, AnErrorOfAWholeRequestNamesItsInputs) {
  FakeServer server;
  server.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                               v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "broken");
  };
  const Outcome outcome =
      RunEncodeAll(server, SourceOf(NumberedTexts(3)), {.max_request_items = 3});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kInternal, "inputs 0 to 2: broken"));
  EXPECT_EQ(FailedInputIndex(outcome.status), std::nullopt);
}

TEST(EncodeAllTest, DistrustsAnIndexThatIsNotInTheRequest) {
  FakeServer server;
  server.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                               v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "texts.values[99]: odd");
  };
  const Outcome outcome = RunEncodeAll(server, SourceOf(NumberedTexts(2)), {});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("inputs 0 to 1: texts.values[99]")));
  EXPECT_EQ(FailedInputIndex(outcome.status), std::nullopt);
}

TEST(EncodeAllTest, ATextThatIsNotUtf8IsNamedAfterTheResultsBeforeIt) {
  FakeServer server;
  const Outcome outcome = RunEncodeAll(server, SourceOf({"a", "b", "\xff", "c"}), {});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("input 2: text is not UTF-8")));
  EXPECT_THAT(FailedInputIndex(outcome.status), Optional(2u));
  EXPECT_EQ(outcome.items.size(), 2u);
}

TEST(EncodeAllTest, ASourceThatFailsEndsItWithItsError) {
  FakeServer server;
  bool first = true;
  const EncodeSource source = [&first]() -> absl::StatusOr<std::optional<EncodeInput>> {
    if (std::exchange(first, false)) return EncodeInput("a");
    return absl::DataLossError("disk");
  };
  const Outcome outcome = RunEncodeAll(server, source, {});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kDataLoss, "disk"));
  EXPECT_EQ(outcome.items.size(), 1u);
}

TEST(EncodeAllTest, ASinkThatFailsEndsItWithItsError) {
  FakeServer server;
  const auto client = Client::Create({.address = server.address()});
  int taken = 0;
  const auto sink = [&taken](const EncodedItem&) {
    ++taken;
    return absl::ResourceExhaustedError("full");
  };
  EXPECT_THAT((*client)->EncodeAll(SourceOf(NumberedTexts(50)), sink, {.max_request_items = 5}),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_EQ(taken, 1);
}

TEST(EncodeAllTest, ReportsProgressAfterEachRequest) {
  FakeServer server;
  std::vector<size_t> items;
  EncodeAllProgress last;
  EncodeAllOptions options{.max_request_items = 2};
  options.encode.set_max_tokens(2);
  options.on_progress = [&](const EncodeAllProgress& progress) {
    items.push_back(progress.items);
    last = progress;
  };
  ASSERT_THAT(RunEncodeAll(server, SourceOf({"a", "bb", "ccc"}), options).status, IsOk());
  EXPECT_THAT(items, ElementsAre(2, 3));
  EXPECT_EQ(last.tokens, 5u);  // 1 + 2 + the 2 that were kept of 3
  EXPECT_EQ(last.truncated, 1u);
}

}  // namespace
}  // namespace attune
