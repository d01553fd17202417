// StreamEncode through a running server: every item gets its own answer, and a stream holds no more
// of the server than its window.

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/slow_model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::SlowModel;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TextOf512Tokens;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::HasSubstr;

using Answers = std::map<uint64_t, v1::StreamEncodeResponse>;

// The client's side of one stream.
class Stream {
 public:
  explicit Stream(v1::EncoderService::Stub& stub, absl::Duration timeout = absl::Seconds(100))
      : context_(WithDeadline(timeout)), stream_(stub.StreamEncode(context_.get())) {}

  // False once the stream has ended.
  bool Send(uint64_t id, const std::string& text, const v1::EncodeOptions* options = nullptr) {
    v1::StreamEncodeRequest request;
    request.set_id(id);
    request.set_text(text);
    if (options != nullptr) *request.mutable_options() = *options;
    return stream_->Write(request);
  }
  void EndItems() { stream_->WritesDone(); }
  bool Receive(v1::StreamEncodeResponse& answer) { return stream_->Read(&answer); }

  // Every answer that is still to come.
  Answers ReceiveAll() {
    Answers answers;
    v1::StreamEncodeResponse answer;
    while (Receive(answer)) {
      EXPECT_TRUE(answers.emplace(answer.id(), answer).second) << "two answers to " << answer.id();
    }
    return answers;
  }
  grpc::Status Finish() { return stream_->Finish(); }
  void Cancel() { context_->TryCancel(); }

 private:
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::StreamEncodeRequest, v1::StreamEncodeResponse>>
      stream_;
};

std::string Repeat(const std::string& piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

std::vector<float> Values(const v1::Embedding& embedding) {
  return {embedding.values().begin(), embedding.values().end()};
}

// A vector by Encode, of a text alone.
std::vector<float> EncodeOne(v1::EncoderService::Stub& stub, const std::string& text,
                             const v1::EncodeOptions& options = {}) {
  const EncodeResult result = Encode(stub, std::vector<std::string>{text}, options);
  EXPECT_THAT(result.status, IsGrpcOk());
  return result.status.ok() ? Values(result.response.embeddings(0)) : std::vector<float>();
}

class StreamEncodeTest : public ::testing::Test {
 protected:
  StreamEncodeTest() : server_(TestOptions(model_.path())) {}

  TinyModel model_;
  TestServer server_;
};

// Texts of one to a dozen words, no two the same.
std::vector<std::string> DistinctTexts(size_t count) {
  const std::vector<std::string> words = {"the", "cat", "sat", "on", "mat", "dog", "ran", "fast"};
  std::mt19937 random(5);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    // The number in base 8, a word a digit, and some more.
    std::string text;
    for (size_t rest = i; rest > 0; rest /= words.size()) text += words[rest % words.size()] + " ";
    text += ".";
    for (size_t more = random() % 7; more > 0; --more) text += " " + words[random() % words.size()];
    texts.push_back(text);
  }
  return texts;
}

// The vectors of Encode, for many texts.
std::vector<std::vector<float>> EncodeMany(v1::EncoderService::Stub& stub,
                                           const std::vector<std::string>& texts) {
  constexpr size_t kRequestTexts = 1'000;
  std::vector<std::vector<float>> vectors;
  for (size_t begin = 0; begin < texts.size(); begin += kRequestTexts) {
    const auto from = texts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to =
        texts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kRequestTexts, texts.size()));
    const EncodeResult result = Encode(stub, std::vector<std::string>(from, to));
    EXPECT_THAT(result.status, IsGrpcOk());
    for (const v1::Embedding& embedding : result.response.embeddings()) {
      vectors.push_back(Values(embedding));
    }
  }
  return vectors;
}

TEST_F(StreamEncodeTest, TenThousandItemsGetTheirOwnVectorsAndBadOnesFailAlone) {
  constexpr size_t kItems = 10'000;
  constexpr size_t kBadEvery = 97;
  const std::vector<std::string> texts = DistinctTexts(kItems);
  const std::vector<std::vector<float>> expected = EncodeMany(server_.stub(), texts);
  ASSERT_EQ(expected.size(), kItems);
  // Ids that tell nothing of the order.
  std::vector<uint64_t> ids(kItems);
  for (size_t i = 0; i < kItems; ++i) ids[i] = i * 0x9E3779B97F4A7C15u;
  const auto is_bad = [](size_t i) { return i % kBadEvery == kBadEvery - 1; };

  Stream stream(server_.stub());
  std::thread sender([&] {
    for (size_t i = 0; i < kItems; ++i) {
      if (!stream.Send(ids[i], is_bad(i) ? Repeat("cat ", 80) : texts[i])) return;
    }
    stream.EndItems();
  });
  const Answers answers = stream.ReceiveAll();
  sender.join();
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
  ASSERT_EQ(answers.size(), kItems);
  for (size_t i = 0; i < kItems; ++i) {
    const auto answer = answers.find(ids[i]);
    ASSERT_TRUE(answer != answers.end()) << "item " << i;
    if (is_bad(i)) {
      EXPECT_EQ(answer->second.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_THAT(answer->second.error().message(), HasSubstr("text has more than 64 tokens"));
    } else {
      ASSERT_EQ(Values(answer->second.embedding()), expected[i]) << texts[i];
    }
  }
}

TEST_F(StreamEncodeTest, TheFirstMessagesOptionsHoldForAllItems) {
  v1::EncodeOptions cls;
  cls.set_pooling(v1::POOLING_CLS);
  cls.set_truncation(v1::TRUNCATION_RIGHT);
  v1::EncodeOptions ignored;
  ignored.set_pooling(v1::POOLING_MAX);
  Stream stream(server_.stub());
  ASSERT_TRUE(stream.Send(1, "the cat", &cls));
  ASSERT_TRUE(stream.Send(2, "the dog", &ignored));
  ASSERT_TRUE(stream.Send(3, Repeat("cat ", 80)));
  stream.EndItems();
  const Answers answers = stream.ReceiveAll();
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(Values(answers.at(1).embedding()), EncodeOne(server_.stub(), "the cat", cls));
  EXPECT_EQ(Values(answers.at(2).embedding()), EncodeOne(server_.stub(), "the dog", cls));
  EXPECT_TRUE(answers.at(3).embedding().truncated());
  EXPECT_EQ(answers.at(3).embedding().tokens(), 64u);
}

TEST_F(StreamEncodeTest, WrongOptionsEndTheStreamWithTheirError) {
  const auto status_with = [this](const v1::EncodeOptions& options) {
    Stream stream(server_.stub());
    stream.Send(1, "the cat", &options);
    EXPECT_TRUE(stream.ReceiveAll().empty());
    return stream.Finish();
  };
  v1::EncodeOptions options;
  options.set_pooling(static_cast<v1::Pooling>(42));
  EXPECT_THAT(status_with(options),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "options.pooling is 42"));
  options.Clear();
  options.set_expected_dimension(768);
  EXPECT_THAT(status_with(options), GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION,
                                                 "options.expected_dimension is 768"));
  options.Clear();
  options.set_max_tokens(65);
  EXPECT_THAT(status_with(options), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                                                 "options.max_tokens is 65; it must be from 2"));
  options.Clear();
  options.set_prompt("query: ");
  EXPECT_THAT(status_with(options),
              GrpcStatusIs(grpc::StatusCode::UNIMPLEMENTED, "options.prompt"));
}

TEST_F(StreamEncodeTest, AStreamWithoutItemsEndsWell) {
  Stream stream(server_.stub());
  stream.EndItems();
  EXPECT_TRUE(stream.ReceiveAll().empty());
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
}

TEST_F(StreamEncodeTest, AnswersComeWhileTheStreamIsOpen) {
  Stream stream(server_.stub());
  for (uint64_t id = 0; id < 5; ++id) {
    ASSERT_TRUE(stream.Send(id, "the cat"));
    v1::StreamEncodeResponse answer;
    ASSERT_TRUE(stream.Receive(answer));
    EXPECT_EQ(answer.id(), id);
  }
  // A blank text is a text.
  ASSERT_TRUE(stream.Send(5, ""));
  stream.EndItems();
  const Answers answers = stream.ReceiveAll();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.at(5).embedding().tokens(), 2u);
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
}

TEST_F(StreamEncodeTest, ManyStreamsAtOnceEachGetTheirOwnAnswers) {
  const std::vector<std::string> texts = DistinctTexts(200);
  const std::vector<std::vector<float>> expected = EncodeMany(server_.stub(), texts);
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&] {
      const auto stub = v1::EncoderService::NewStub(server_.NewChannel());
      Stream stream(*stub);
      std::thread sender([&] {
        for (size_t i = 0; i < texts.size(); ++i) EXPECT_TRUE(stream.Send(i, texts[i]));
        stream.EndItems();
      });
      const Answers answers = stream.ReceiveAll();
      sender.join();
      EXPECT_THAT(stream.Finish(), IsGrpcOk());
      EXPECT_EQ(answers.size(), texts.size());
      for (const auto& [id, answer] : answers) {
        EXPECT_EQ(Values(answer.embedding()), expected[id]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// ---- Clients that do not read -------------------------------------------------------------------

// A stub whose transport takes 64 KiB that nobody has read, and no more.
std::unique_ptr<v1::EncoderService::Stub> StubWithAFixedWindow(const TestServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::EncoderService::NewStub(
      grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
}

// Answers of 4 KiB each.
v1::EncodeOptions TokenVectors() {
  v1::EncodeOptions options;
  options.set_pooling(v1::POOLING_NONE);
  return options;
}

TEST_F(StreamEncodeTest, AClientThatNeverReadsIsNotReadFromAndIsCancelledInTheEnd) {
  ServerOptions options = TestOptions(model_.path());
  options.max_parallel_per_stream = 4;
  options.stream_stall_timeout = absl::Milliseconds(300);
  TestServer server(options);
  const auto stub = StubWithAFixedWindow(server);
  const v1::EncodeOptions token_vectors = TokenVectors();

  Stream stream(*stub);
  // As much text as no window on the way holds, so that the client is stopped if the server is.
  constexpr int kItems = 20'000;
  const std::string text = Repeat("cat ", 62) + std::string(1'000, ' ');
  int sent = 0;
  while (sent < kItems && stream.Send(static_cast<uint64_t>(sent), text, &token_vectors)) ++sent;
  EXPECT_LT(sent, kItems);
  // The status comes after the answers that had left before.
  EXPECT_LT(stream.ReceiveAll().size(), 200u);
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // 16 answers fill the transport's window; 4 are under way; some are in buffers between.
  EXPECT_LT(server.server().batches_run(), 200);
  EXPECT_THAT(Encode(server.stub(), {"the cat"}).status, IsGrpcOk());
}

TEST_F(StreamEncodeTest, ASlowReaderGetsEveryAnswer) {
  ServerOptions options = TestOptions(model_.path());
  options.max_parallel_per_stream = 2;
  TestServer server(options);
  const auto stub = StubWithAFixedWindow(server);
  const v1::EncodeOptions token_vectors = TokenVectors();
  const std::string text = Repeat("cat ", 62);
  constexpr uint64_t kItems = 300;

  Stream stream(*stub);
  std::atomic<uint64_t> sent{0};
  std::thread sender([&] {
    while (sent < kItems && stream.Send(sent, text, &token_vectors)) ++sent;
    stream.EndItems();
  });
  uint64_t received = 0;
  v1::StreamEncodeResponse answer;
  while (stream.Receive(answer)) {
    ++received;
    if (received < 50) absl::SleepFor(absl::Milliseconds(2));
  }
  sender.join();
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
  EXPECT_EQ(received, kItems);
}

// ---- Streams that end early ---------------------------------------------------------------------

// One worker, and a model that takes some tenths of a second for a text of 512 tokens.
class SlowStreamTest : public ::testing::Test {
 protected:
  ServerOptions OneWorker() const {
    ServerOptions options = TestOptions(model_.path());
    options.threads = 1;
    return options;
  }

  SlowStreamTest() : model_(SlowModel()) {}

  static void WaitUntilBatches(TestServer& server, int64_t batches) {
    while (server.server().batches_run() < batches) absl::SleepFor(absl::Milliseconds(1));
  }

  TinyModel model_;
};

TEST_F(SlowStreamTest, CancellingStopsTheWorkThatIsLeft) {
  TestServer server(OneWorker());
  Stream stream(server.stub());
  for (uint64_t id = 0; id < 60; ++id) ASSERT_TRUE(stream.Send(id, TextOf512Tokens()));
  WaitUntilBatches(server, 1);
  stream.Cancel();
  stream.ReceiveAll();
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // The worker is free again long before 60 batches.
  EXPECT_THAT(Encode(server.stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_LT(server.server().batches_run(), 40);
  // No call is left that a drain would wait for.
  EXPECT_TRUE(server.server().Drain());
}

TEST_F(SlowStreamTest, TheClientsDeadlineStopsTheWorkThatIsLeft) {
  TestServer server(OneWorker());
  Stream stream(server.stub(), absl::Milliseconds(500));
  for (uint64_t id = 0; id < 60; ++id) stream.Send(id, TextOf512Tokens());
  stream.ReceiveAll();
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(Encode(server.stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_LT(server.server().batches_run(), 60);
  EXPECT_TRUE(server.server().Drain());
}

TEST_F(SlowStreamTest, TheServersLimitIsForEachItemNotForTheStream) {
  ServerOptions options = OneWorker();
  options.max_deadline = absl::Milliseconds(100);
  TestServer server(options);
  Stream stream(server.stub());
  // All at once they wait longer than one may take.
  constexpr uint64_t kItems = 60;
  for (uint64_t id = 0; id < kItems; ++id) ASSERT_TRUE(stream.Send(id, TextOf512Tokens()));
  stream.EndItems();
  const Answers answers = stream.ReceiveAll();
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
  EXPECT_EQ(answers.size(), kItems);
  int expired = 0;
  for (const auto& [id, answer] : answers) {
    if (answer.error().code() == grpc::StatusCode::DEADLINE_EXCEEDED) ++expired;
  }
  EXPECT_GT(expired, 0);
}

TEST_F(SlowStreamTest, AFullQueueFailsItemsNotTheStream) {
  ServerOptions options = OneWorker();
  options.max_texts = 1;
  options.max_queue_tokens = 512;
  TestServer server(options);
  Stream stream(server.stub());
  constexpr uint64_t kItems = 20;
  for (uint64_t id = 0; id < kItems; ++id) ASSERT_TRUE(stream.Send(id, TextOf512Tokens()));
  stream.EndItems();
  const Answers answers = stream.ReceiveAll();
  EXPECT_THAT(stream.Finish(), IsGrpcOk());
  EXPECT_EQ(answers.size(), kItems);
  int refused = 0;
  for (const auto& [id, answer] : answers) {
    if (!answer.has_error()) continue;
    EXPECT_EQ(answer.error().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ++refused;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, static_cast<int>(kItems));
}

TEST_F(StreamEncodeTest, ADrainAnswersWhatWasReadAndEndsTheStream) {
  const std::vector<std::string> texts = DistinctTexts(1'000);
  const std::vector<std::vector<float>> expected = EncodeMany(server_.stub(), texts);
  Stream stream(server_.stub());
  std::thread sender([&] {
    // Without end, as long as the server takes them.
    for (uint64_t id = 0; stream.Send(id, texts[id % texts.size()]); ++id) {
    }
  });
  uint64_t received = 0;
  std::future<bool> drained;
  v1::StreamEncodeResponse answer;
  while (stream.Receive(answer)) {
    EXPECT_EQ(Values(answer.embedding()), expected[answer.id() % texts.size()]);
    if (++received == 100) {
      drained = std::async(std::launch::async, [this] { return server_.server().Drain(); });
    }
  }
  sender.join();
  EXPECT_THAT(stream.Finish(), GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "draining"));
  ASSERT_GE(received, 100u);
  EXPECT_TRUE(drained.get());
}

TEST_F(StreamEncodeTest, AnIdleStreamDoesNotHoldUpADrain) {
  Stream stream(server_.stub());
  ASSERT_TRUE(stream.Send(1, "the cat"));
  v1::StreamEncodeResponse answer;
  ASSERT_TRUE(stream.Receive(answer));
  EXPECT_TRUE(server_.server().Drain());
  EXPECT_FALSE(stream.Receive(answer));
  EXPECT_THAT(stream.Finish(), GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "draining"));
}

TEST_F(SlowStreamTest, AHurriedStopEndsStreamsInsteadOfWaitingForThem) {
  auto server = std::make_unique<TestServer>(OneWorker());
  const auto stub = v1::EncoderService::NewStub(server->NewChannel());
  Stream stream(*stub);
  for (uint64_t id = 0; id < 60; ++id) ASSERT_TRUE(stream.Send(id, TextOf512Tokens()));
  WaitUntilBatches(*server, 1);
  server->server().Hurry();
  EXPECT_FALSE(server->server().Drain());
  stream.ReceiveAll();
  EXPECT_FALSE(stream.Finish().ok());
  EXPECT_LT(server->server().batches_run(), 40);
  server.reset();
}

TEST(StreamLifecycleTest, AStreamBeforeTheModelIsLoadedIsRefusedByName) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(TestOptions(model.path())));
  const auto stub = v1::EncoderService::NewStub(grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", server->port()), grpc::InsecureChannelCredentials()));
  Stream stream(*stub);
  EXPECT_TRUE(stream.ReceiveAll().empty());
  EXPECT_THAT(stream.Finish(), GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "loading"));
}

}  // namespace
}  // namespace attune
