// Whatever clients do, the server keeps within the memory that it says at the start, and within
// what it is given.

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/run_program.h"
#include "tests/support/server_program.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::Get;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::kNoHttpPort;
using ::attune::testing::kNoOpsPort;
using ::attune::testing::NumberOf;
using ::attune::testing::PortOf;
using ::attune::testing::Post;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunProgram;
using ::attune::testing::ServerBinary;
using ::attune::testing::ServerProgram;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

// Sanitizers take memory of their own, of which the plan does not know.
constexpr bool kMemoryIsMeasured = absl::string_view(ATTUNE_SANITIZE).empty();

// Maps of 512 tokens have 16 MiB.
TinyModelOptions WideModel() {
  TinyModelOptions options;
  options.layers = 4;
  options.heads = 4;
  options.max_positions = 512;
  return options;
}

std::string Repeated(const std::string& text, int64_t bytes) {
  std::string result;
  while (static_cast<int64_t>(result.size() + text.size()) <= bytes) result += text;
  return result;
}

// A client with a connection of its own, that asks for as much as the server takes or more.
class GreedyClient {
 public:
  GreedyClient(int port, int http_port)
      : http_port_(http_port),
        stub_(v1::EncoderService::NewStub(grpc::CreateCustomChannel(
            absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), Arguments()))) {
    v1::GetModelResponse model;
    const auto context = WithDeadline();
    EXPECT_THAT(stub_->GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
    max_texts_ = static_cast<int64_t>(model.limits().max_texts());
    max_message_bytes_ = static_cast<int64_t>(model.limits().max_message_bytes());
    max_map_bytes_ = model.limits().max_attention_reply_bytes();
  }

  // Its words are so long that the model knows none of them, so it is little work and much text.
  void EncodeLargestBatch() { SendTexts(max_texts_, LongWord()); }

  void EncodeVectorsOfEveryToken() {
    v1::EncodeRequest request;
    for (int i = 0; i < 30; ++i) request.mutable_texts()->add_values(LongText());
    request.mutable_options()->set_pooling(v1::POOLING_NONE);
    Send(request);
  }

  // One byte on the wire for each of two; in memory it is some sixty.
  void EncodeTooManyTexts() { SendTexts(max_message_bytes_ / 2 - 64, ""); }

  // A token for each byte: too many to be listed in a reply, or nearly so.
  void TokenizeTooMuch() { Tokenize(max_message_bytes_ - 1024); }
  void TokenizeMuch() { Tokenize(max_message_bytes_ / 32); }

  void MapLongestText() {
    v1::AttentionMapRequest request;
    request.mutable_query()->set_text(LongText());
    request.mutable_query()->set_max_bytes(max_map_bytes_);
    v1::AttentionMapResponse response;
    const auto context = WithDeadline();
    Count(stub_->AttentionMap(context.get(), request, &response));
  }

  // Opens a stream of maps, reads its beginning, and goes away a little later.
  void StreamMapsWithoutReading() {
    v1::StreamAttentionMapRequest request;
    request.mutable_query()->set_text(LongText());
    const auto context = WithDeadline();
    const auto stream = stub_->StreamAttentionMap(context.get(), request);
    v1::StreamAttentionMapResponse message;
    if (stream->Read(&message)) absl::SleepFor(absl::Milliseconds(300));
    context->TryCancel();
    Count(stream->Finish());
  }

  // Sends texts for as long as the server reads them, and takes no answer.
  void StreamTextsWithoutReading() {
    const auto context = WithDeadline(absl::Milliseconds(500));
    const auto stream = stub_->StreamEncode(context.get());
    v1::StreamEncodeRequest request;
    request.set_text(LongText());
    request.mutable_options()->set_pooling(v1::POOLING_NONE);
    while (stream->Write(request)) request.clear_options();
    Count(stream->Finish());
  }

  void PostLargestBatch() { PostTexts(max_texts_, LongWord()); }
  void PostTooManyTexts() { PostTexts(max_message_bytes_ / 3 - 64, ""); }

  void PostForLongestMap() {
    PostJson("/v1/attention-map", absl::StrCat("{\"query\":{\"text\":\"", LongText(),
                                               "\",\"maxBytes\":", max_map_bytes_, "}}"));
  }

  void PostWhatIsNotJson() { PostJson("/v1/encode", Repeated("[", max_message_bytes_)); }

  int answered() const { return answered_; }

 private:
  static grpc::ChannelArguments Arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
  }

  // As long as the model takes them.
  static std::string LongText() { return Repeated("cat ", 4 * 510); }

  // With max_texts_ of them a request is as large as the server takes it, in JSON too.
  std::string LongWord() const { return Repeated("a", max_message_bytes_ / max_texts_ - 16); }

  void Tokenize(int64_t bytes) {
    v1::TokenizeRequest request;
    for (int i = 0; i < 8; ++i) request.mutable_texts()->add_values(Repeated("!", bytes / 8));
    v1::TokenizeResponse response;
    const auto context = WithDeadline();
    Count(stub_->Tokenize(context.get(), request, &response));
  }

  void SendTexts(int64_t texts, const std::string& text) {
    v1::EncodeRequest request;
    for (int64_t i = 0; i < texts; ++i) request.mutable_texts()->add_values(text);
    Send(request);
  }

  void Send(const v1::EncodeRequest& request) { Count(Encode(*stub_, request).status); }

  void PostTexts(int64_t texts, const std::string& text) {
    const std::string quoted = absl::StrCat("\"", text, "\"");
    std::string list = quoted;
    for (int64_t i = 1; i < texts; ++i) absl::StrAppend(&list, ",", quoted);
    PostJson("/v1/encode", absl::StrCat("{\"texts\":{\"values\":[", list, "]}}"));
  }

  void PostJson(const std::string& path, const std::string& json) {
    const int status = Post(http_port_, path, json).status;
    if (status == 200) ++answered_;
    EXPECT_THAT(status, AnyOf(Eq(200), Eq(400), Eq(429)));
  }

  // Nothing but refusals that the contract has, and what the client itself has cut short.
  void Count(const grpc::Status& status) {
    if (status.ok()) ++answered_;
    EXPECT_THAT(status.error_code(),
                AnyOf(Eq(grpc::StatusCode::OK), Eq(grpc::StatusCode::INVALID_ARGUMENT),
                      Eq(grpc::StatusCode::RESOURCE_EXHAUSTED), Eq(grpc::StatusCode::CANCELLED),
                      Eq(grpc::StatusCode::DEADLINE_EXCEEDED)))
        << status.error_message();
  }

  const int http_port_;
  const std::unique_ptr<v1::EncoderService::Stub> stub_;
  int64_t max_texts_ = 0;
  int64_t max_message_bytes_ = 0;
  uint64_t max_map_bytes_ = 0;
  int answered_ = 0;
};

TEST(MemoryTest, StaysBelowThePlanWhateverClientsDo) {
  const TinyModel model(WideModel());
  ServerProgram program({"--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
                         "--ops-address", "127.0.0.1:0", "--model", model.path(), "--precision",
                         "f32", "--threads", "2", "--memory-limit", "512MiB"});
  const std::string plan = program.ReadUntil("\"memory_plan\"");
  const int64_t planned = NumberOf(plan, "total_bytes");
  EXPECT_GT(planned, int64_t{256} << 20);
  EXPECT_LE(planned, int64_t{410} << 20);
  EXPECT_THAT(plan, HasSubstr("\"shrunk\":\"attention-budget calls-budget grpc-memory-quota "
                              "max-message-bytes\""));
  const int port = PortOf(program.ReadUntil("\"listening\""));
  const auto http_port =
      static_cast<int>(NumberOf(program.ReadUntil("\"http_port\""), "http_port"));
  const auto ops_port = static_cast<int>(NumberOf(program.ReadUntil("\"ops_port\""), "ops_port"));
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  EXPECT_THAT(Get(ops_port, "/metrics").body, HasSubstr("\nattune_memory_budget_bytes "));

  using Load = void (GreedyClient::*)();
  constexpr Load kLoads[] = {
      &GreedyClient::EncodeLargestBatch,
      &GreedyClient::EncodeVectorsOfEveryToken,
      &GreedyClient::EncodeTooManyTexts,
      &GreedyClient::TokenizeTooMuch,
      &GreedyClient::TokenizeMuch,
      &GreedyClient::MapLongestText,
      &GreedyClient::StreamMapsWithoutReading,
      &GreedyClient::StreamTextsWithoutReading,
      &GreedyClient::PostLargestBatch,
      &GreedyClient::PostTooManyTexts,
      &GreedyClient::PostForLongestMap,
      &GreedyClient::PostWhatIsNotJson,
  };
  constexpr size_t kClients = 8;
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (size_t client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      GreedyClient greedy(port, http_port);
      // Each begins with another load, so that all kinds meet.
      for (size_t i = 0; i < std::size(kLoads); ++i) {
        (greedy.*kLoads[(i + client) % std::size(kLoads)])();
      }
      answered += greedy.answered();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GT(answered, 0);
  const int64_t peak = program.PeakResidentBytes();
  RecordProperty("planned_bytes", absl::StrCat(planned));
  RecordProperty("peak_bytes", absl::StrCat(peak));
  if (kMemoryIsMeasured) {
    EXPECT_LT(peak, planned);
  }

  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  EXPECT_THAT(Encode(*stub, {"the cat"}).status, IsGrpcOk());
}

// `attune-server check --json` without and with more flags.
Json Check(const TinyModel& model, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> arguments = {"check",      "--json",      "--model",
                                        model.path(), "--precision", "f32"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ProgramResult result = RunProgram(
      ServerBinary(), {.arguments = arguments, .environment = {kNoHttpPort, kNoOpsPort}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Json> summary = ParseJson(result.out);
  EXPECT_TRUE(summary.ok()) << result.out;
  return summary.ok() ? *summary : Json::object();
}

// The least limit that a plan of so many bytes fits.
std::string LimitFor(int64_t planned_bytes) { return absl::StrCat(planned_bytes / 4 * 5 + 5); }

TEST(MemoryTest, CheckSaysWhatTheStartLogs) {
  const TinyModel model;
  const Json summary = Check(model);
  ServerProgram program(
      {"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--precision", "f32"});
  const std::string plan = program.ReadUntil("\"memory_plan\"");
  int64_t sum = 0;
  for (const char* term :
       {"weights", "activations", "queue", "tokenizing", "calls", "attention_maps", "grpc_decoding",
        "http_decoding", "grpc_buffers", "traces", "program", "other_model", "comparison"}) {
    const int64_t bytes = summary.at(absl::StrCat("memory_", term, "_bytes")).get<int64_t>();
    EXPECT_EQ(NumberOf(plan, absl::StrCat(term, "_bytes")), bytes) << term;
    sum += bytes;
  }
  EXPECT_EQ(summary.at("memory_total_bytes"), sum);
  EXPECT_EQ(NumberOf(plan, "total_bytes"), sum);
}

TEST(MemoryTest, BudgetsShrinkToTheLimitUnlessAFlagSetsThem) {
  const TinyModel model;
  const int64_t total = Check(model).at("memory_total_bytes").get<int64_t>();
  const std::string limit = LimitFor(total - (int64_t{100} << 20));
  const Json shrunk = Check(model, {"--memory-limit", limit});
  EXPECT_EQ(shrunk.at("memory_shrunk"), "attention-budget");
  EXPECT_LE(shrunk.at("memory_total_bytes").get<int64_t>(), total - (int64_t{100} << 20) + 4);
  const Json kept = Check(model, {"--memory-limit", limit, "--attention-budget", "256MiB"});
  EXPECT_EQ(kept.at("memory_shrunk"), "calls-budget");
}

TEST(MemoryTest, ALimitThatIsTooSmallStopsTheStartAndSaysTheTerms) {
  const TinyModel model;
  for (const char* command : {"check", "--reflection=true"}) {
    const ProgramResult result = RunProgram(
        ServerBinary(), {.arguments = {command, "--grpc-address", "127.0.0.1:0", "--model",
                                       model.path(), "--memory-limit", "100MiB"},
                         .environment = {kNoHttpPort, kNoOpsPort}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("the memory limit is 104857600 bytes"), HasSubstr("weights "),
                      HasSubstr("attention_maps 4194304"), HasSubstr(", total ")));
  }
}

TEST(MemoryTest, AReloadForWhichThereIsNoRoomIsRefusedAndTheModelStays) {
  const TinyModel model;
  const int64_t total = Check(model).at("memory_total_bytes").get<int64_t>();
  ServerProgram program({"--grpc-address", "127.0.0.1:0", "--model", model.path(), "--precision",
                         "f32", "--drain-delay", "0s", "--memory-limit", LimitFor(total)});
  const int port = PortOf(program.ReadUntil("\"listening\""));
  ASSERT_NE(program.ReadUntil("\"serving\""), "");
  program.Signal(SIGHUP);
  EXPECT_THAT(program.ReadUntil("\"reload_failed\""),
              AllOf(HasSubstr("the memory limit is"), HasSubstr("other_model ")));
  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  EXPECT_THAT(Encode(*stub, {"the cat"}).status, IsGrpcOk());
}

}  // namespace
}  // namespace attune
