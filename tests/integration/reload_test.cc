// SIGHUP: another model under the same path takes over without a request being lost.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/running_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::IsOk;
using ::attune::testing::RunningServer;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::HasSubstr;

using Vector = std::vector<float>;

const std::vector<std::string>& Texts() {
  static const auto& texts = *new std::vector<std::string>{
      "the cat sat", "a dog ran fast", "hello world!", "on the mat, the cat", "cats?"};
  return texts;
}

Vector ValuesOf(const v1::Embedding& embedding) {
  return {embedding.values().begin(), embedding.values().end()};
}

// The vector of each text.
std::vector<Vector> VectorsOf(v1::EncoderService::Stub& stub) {
  const EncodeResult result = Encode(stub, Texts());
  EXPECT_THAT(result.status, IsGrpcOk());
  std::vector<Vector> vectors;
  for (const v1::Embedding& embedding : result.response.embeddings()) {
    vectors.push_back(ValuesOf(embedding));
  }
  return vectors;
}

std::string RevisionOf(v1::EncoderService::Stub& stub) {
  v1::GetModelResponse model;
  const auto context = WithDeadline();
  EXPECT_THAT(stub.GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
  return model.revision();
}

// A path at which first one and then another model is found.
class ModelLink {
 public:
  explicit ModelLink(const TinyModel& model) { PointTo(model); }

  // At once: whoever looks finds one or the other.
  void PointTo(const TinyModel& model) const {
    const std::string next = dir_.Path("next");
    std::filesystem::create_directory_symlink(model.path(), next);
    std::filesystem::rename(next, path());
  }

  std::string path() const { return dir_.Path("current"); }

 private:
  const TempDir dir_;
};

class ReloadTest : public ::testing::Test {
 protected:
  static TinyModelOptions Seed(uint64_t seed) {
    TinyModelOptions options;
    options.seed = seed;
    return options;
  }

  ReloadTest() : first_(Seed(1)), second_(Seed(2)), broken_(Seed(3)), link_(first_) {
    broken_.dir().Remove("model.safetensors");
  }

  const TinyModel first_;
  const TinyModel second_;
  const TinyModel broken_;
  const ModelLink link_;
};

TEST_F(ReloadTest, UnderLoadEveryReplyIsOfOneOfTheTwoModelsAndNoneFails) {
  RunningServer running(link_.path());
  const std::vector<Vector> before = VectorsOf(running.stub());
  const std::string revision = RevisionOf(running.stub());

  struct Seen {
    size_t text;
    Vector vector;
  };
  constexpr int kClients = 4;
  std::atomic<bool> stop{false};
  std::atomic<int> replies{0};
  std::vector<std::vector<Seen>> seen(kClients);
  std::vector<std::thread> clients;
  for (size_t client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const auto stub = v1::EncoderService::NewStub(running.NewChannel());
      for (size_t i = client; !stop; ++i) {
        const size_t text = i % Texts().size();
        const EncodeResult result = Encode(*stub, {Texts()[text]});
        ASSERT_THAT(result.status, IsGrpcOk());
        seen[client].push_back({text, ValuesOf(result.response.embeddings(0))});
        ++replies;
      }
    });
  }
  const auto wait_for_replies = [&replies](int more) {
    const int enough = replies + more;
    while (replies < enough) std::this_thread::yield();
  };
  wait_for_replies(50);
  link_.PointTo(second_);
  running.program().Signal(SIGHUP);
  EXPECT_NE(running.program().ReadUntil("\"reloaded\""), "");
  EXPECT_NE(running.program().ReadUntil("\"old_model_freed\""), "");
  wait_for_replies(50);
  stop = true;
  for (std::thread& client : clients) client.join();

  const std::vector<Vector> after = VectorsOf(running.stub());
  EXPECT_NE(RevisionOf(running.stub()), revision);
  for (size_t text = 0; text < Texts().size(); ++text) EXPECT_NE(before[text], after[text]);
  for (const std::vector<Seen>& replies_of_client : seen) {
    bool switched = false;
    for (const Seen& reply : replies_of_client) {
      const bool is_new = reply.vector == after[reply.text];
      EXPECT_TRUE(is_new || reply.vector == before[reply.text]);
      // One client's calls come one after the other, so it never sees the old model again.
      EXPECT_TRUE(is_new || !switched);
      switched |= is_new;
    }
    EXPECT_TRUE(switched);
  }
  EXPECT_EQ(running.Stop(), 0);
}

TEST_F(ReloadTest, ABrokenFolderKeepsTheOldModelAndAMendedOneReplacesIt) {
  RunningServer running(link_.path());
  const std::vector<Vector> before = VectorsOf(running.stub());
  const std::string revision = RevisionOf(running.stub());
  link_.PointTo(broken_);
  running.program().Signal(SIGHUP);
  EXPECT_THAT(running.program().ReadUntil("\"reload_failed\""), HasSubstr("model.safetensors"));
  EXPECT_EQ(VectorsOf(running.stub()), before);
  EXPECT_EQ(RevisionOf(running.stub()), revision);

  link_.PointTo(second_);
  running.program().Signal(SIGHUP);
  EXPECT_NE(running.program().ReadUntil("\"reloaded\""), "");
  EXPECT_NE(VectorsOf(running.stub()), before);
  EXPECT_EQ(running.Stop(), 0);
}

TEST_F(ReloadTest, C57AModelOfAnotherDimensionIsToldToWhoExpectsTheOld) {
  TinyModelOptions wider = Seed(5);
  wider.hidden = 32;
  const TinyModel wide_model(wider);
  RunningServer running(link_.path());
  v1::EncodeOptions options;
  options.set_expected_dimension(16);
  const EncodeResult before = Encode(running.stub(), {"cat"}, options);
  ASSERT_THAT(before.status, IsGrpcOk());
  EXPECT_EQ(before.response.dimension(), 16u);

  link_.PointTo(wide_model);
  running.program().Signal(SIGHUP);
  EXPECT_NE(running.program().ReadUntil("\"reloaded\""), "");
  const grpc::Status refused = Encode(running.stub(), {"cat"}, options).status;
  EXPECT_THAT(refused, GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION,
                                    "options.expected_dimension is 16, but model"));
  EXPECT_THAT(refused, GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION, "gives 32"));
  EXPECT_EQ(Encode(running.stub(), {"cat"}).response.dimension(), 32u);
  EXPECT_EQ(running.Stop(), 0);
}

TEST_F(ReloadTest, ManySignalsInARowHarmNothing) {
  RunningServer running(link_.path());
  link_.PointTo(second_);
  for (int i = 0; i < 20; ++i) {
    running.program().Signal(SIGHUP);
    EXPECT_THAT(Encode(running.stub(), {"the cat"}).status, IsGrpcOk());
  }
  EXPECT_NE(running.program().ReadUntil("\"reloaded\""), "");
  EXPECT_EQ(running.Stop(), 0);
}

TEST_F(ReloadTest, AnOpenStreamKeepsItsModelUntilItEnds) {
  TestServer server(TestOptions(link_.path()));
  const std::vector<Vector> before = VectorsOf(server.stub());
  const auto context = WithDeadline();
  const auto stream = server.stub().StreamEncode(context.get());
  v1::StreamEncodeRequest item;
  item.set_text(Texts()[0]);
  v1::StreamEncodeResponse answer;
  ASSERT_TRUE(stream->Write(item));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(ValuesOf(answer.embedding()), before[0]);

  link_.PointTo(second_);
  auto reloaded = std::async(std::launch::async, [&server] { return server.server().Reload(); });
  while (VectorsOf(server.stub()) == before) std::this_thread::yield();
  ASSERT_TRUE(stream->Write(item));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(ValuesOf(answer.embedding()), before[0]);
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
  EXPECT_THAT(reloaded.get(), IsOk());
  EXPECT_NE(VectorsOf(server.stub()), before);
}

TEST_F(ReloadTest, ADrainDuringAReloadStillRefuses) {
  TestServer server(TestOptions(link_.path()));
  EXPECT_TRUE(server.server().Drain());
  link_.PointTo(second_);
  EXPECT_THAT(server.server().Reload(), IsOk());
  EXPECT_EQ(Encode(server.stub(), {"cat"}).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ReloadTest, AFlagThatDoesNotSuitTheNewModelIsToldAndKeepsTheOld) {
  TinyModelOptions shorter = Seed(4);
  shorter.max_positions = 32;
  const TinyModel short_model(shorter);
  ServerOptions options = TestOptions(link_.path());
  options.max_input_tokens = 64;
  TestServer server(options);
  const std::vector<Vector> before = VectorsOf(server.stub());
  link_.PointTo(short_model);
  EXPECT_THAT(server.server().Reload(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--max-input-tokens is 64")));
  EXPECT_EQ(VectorsOf(server.stub()), before);
}

}  // namespace
}  // namespace attune
