// A request for which there is no memory fails alone, by name, and can be sent again.

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace {

// While set, there is none for anything so large. The rest of the program, the client among it,
// has what it needs.
constexpr size_t kLargeBytes = 1 << 20;
std::atomic<bool> short_of_memory{false};

void* Allocate(size_t bytes, size_t alignment) {
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const bool refused = bytes >= kLargeBytes && short_of_memory;
  void* memory = refused ? nullptr : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not inlined, or g++ takes it for a mistake that what `new` gave is given to free().
[[gnu::noinline]] void Free(void* memory) { std::free(memory); }

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::PostRequest;
using ::attune::testing::SendRequest;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

class OutOfMemoryTest : public ::testing::Test {
 protected:
  OutOfMemoryTest() : model_(LongTexts()), server_(Options(model_)) {}
  ~OutOfMemoryTest() override { short_of_memory = false; }

  // A map of 512 tokens has a matrix of 1 MiB for each head.
  static TinyModelOptions LongTexts() {
    TinyModelOptions options;
    options.max_positions = 512;
    return options;
  }

  static ServerOptions Options(const TinyModel& model) {
    ServerOptions options = TestOptions(model.path());
    options.http_address = "127.0.0.1:0";
    return options;
  }

  static v1::AttentionMapRequest LargeMap() {
    v1::AttentionMapRequest request;
    for (int i = 0; i < 510; ++i) request.mutable_query()->mutable_text()->append("cat ");
    request.mutable_query()->set_max_bytes(8 << 20);
    return request;
  }

  const TinyModel model_;
  TestServer server_;
};

TEST_F(OutOfMemoryTest, AMapForWhichThereIsNoneIsRefusedAndSmallerRequestsAreAnswered) {
  const auto stub = v1::EncoderService::NewStub(server_.NewChannel());
  v1::AttentionMapResponse response;
  {
    short_of_memory = true;
    const auto context = WithDeadline();
    const grpc::Status status = stub->AttentionMap(context.get(), LargeMap(), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    google::rpc::Status details;
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry;
    for (const google::protobuf::Any& detail : details.details()) {
      detail.UnpackTo(&info);
      detail.UnpackTo(&retry);
    }
    EXPECT_EQ(info.reason(), "OUT_OF_MEMORY");
    EXPECT_GT(retry.retry_delay().nanos(), 0);
    EXPECT_THAT(context->GetServerTrailingMetadata(), Contains(Key("grpc-retry-pushback-ms")));
    EXPECT_THAT(Encode(server_.stub(), {"the cat"}).status, IsGrpcOk());
    short_of_memory = false;
  }
  const auto context = WithDeadline();
  EXPECT_THAT(stub->AttentionMap(context.get(), LargeMap(), &response), IsGrpcOk());
}

TEST_F(OutOfMemoryTest, ABodyForWhichThereIsNoneIsRefusedOverHttpToo) {
  const std::string text(900'000, 'a');
  const std::string large =
      PostRequest("/v1/encode", "{\"texts\":{\"values\":[\"" + text + "\",\"" + text + "\"]}}");
  const std::string small = PostRequest("/v1/encode", R"({"texts":{"values":["the cat"]}})");
  const int port = server_.server().http_port();
  short_of_memory = true;
  const HttpReply refused = SendRequest(port, large);
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("\"OUT_OF_MEMORY\""));
  EXPECT_THAT(refused.headers, Contains(Key("retry-after-ms")));
  EXPECT_EQ(SendRequest(port, small).status, 200);
  short_of_memory = false;
  EXPECT_EQ(SendRequest(port, large).status, 200);
}

}  // namespace
}  // namespace attune
