// Whatever arrives: a clear error with the right code, and a server that goes on.

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::CallRaw;
using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;

constexpr char kEncodeMethod[] = "/attune.v1.EncoderService/Encode";

class BadInputTest : public ::testing::Test {
 protected:
  BadInputTest() : server_(TestOptions(model_.path())) {}

  ~BadInputTest() override {
    // Every test ends with this: the server is alive and right.
    EXPECT_THAT(Encode(server_.stub(), {"the cat"}).status, IsGrpcOk());
  }

  static v1::EncodeRequest IdsRequest(std::initializer_list<uint32_t> ids) {
    v1::EncodeRequest request;
    v1::TokenIds& list = *request.mutable_token_ids()->add_values();
    for (const uint32_t id : ids) list.add_values(id);
    return request;
  }

  TinyModel model_;
  TestServer server_;
};

TEST_F(BadInputTest, NoInputAtAll) {
  EXPECT_THAT(Encode(server_.stub(), v1::EncodeRequest()).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "input is not set"));
}

TEST_F(BadInputTest, C50EmptyList) {
  v1::EncodeRequest request;
  request.mutable_texts();
  EXPECT_THAT(Encode(server_.stub(), request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "texts.values is empty"));
  request.mutable_token_ids();
  EXPECT_THAT(Encode(server_.stub(), request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "token_ids.values is empty"));
}

TEST_F(BadInputTest, C50OneTextOverTheLimitAmongTenIsNamed) {
  std::vector<std::string> texts(10, "cat");
  texts[6] = std::string(200, '.');
  EXPECT_THAT(Encode(server_.stub(), texts).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "texts.values[6] has more than 64"));
}

TEST_F(BadInputTest, TenThousandTexts) {
  EXPECT_THAT(Encode(server_.stub(), std::vector<std::string>(10'000, "cat")).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "texts.values has 10000 elements; the limit is 2048"));
}

TEST_F(BadInputTest, OneTextMoreThanTheLimit) {
  EXPECT_THAT(Encode(server_.stub(), std::vector<std::string>(2'048, "cat")).status, IsGrpcOk());
  EXPECT_THAT(Encode(server_.stub(), std::vector<std::string>(2'049, "cat")).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "2049"));
}

// A text of `bytes` bytes, or a little less where `piece` does not go into it.
std::string Repeat(const std::string& piece, size_t bytes) {
  std::string text;
  while (text.size() + piece.size() <= bytes) text += piece;
  return text;
}

TEST_F(BadInputTest, C51OneMegabyteOfTextIsCutAtTheLimit) {
  v1::EncodeOptions options;
  options.set_truncation(v1::TRUNCATION_RIGHT);
  for (const std::string piece : {"cat ", "a", "_", ".", " ", "\xe4\xb8\xad", "aGVsbG8gd29ybGQ/"}) {
    EXPECT_THAT(Encode(server_.stub(), {Repeat(piece, 1u << 20)}, options).status, IsGrpcOk())
        << piece;
  }
}

TEST_F(BadInputTest, C51ALongTextIsCutAndSaysSo) {
  v1::EncodeOptions options;
  options.set_truncation(v1::TRUNCATION_RIGHT);
  const std::string text = Repeat("hello world", 67'337);
  const EncodeResult result = Encode(server_.stub(), {text}, options);
  ASSERT_THAT(result.status, IsGrpcOk());
  EXPECT_TRUE(result.response.embeddings(0).truncated());
  EXPECT_EQ(result.response.embeddings(0).tokens(), 64u);
}

TEST_F(BadInputTest, ATextOverTheByteLimit) {
  EXPECT_THAT(Encode(server_.stub(), {"cat", std::string((1u << 20) + 1, 'a')}).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "texts.values[1] has 1048577 bytes; the limit is 1048576"));
}

TEST_F(BadInputTest, C48AMessageOverTheLimit) {
  std::vector<std::string> texts(5, std::string(1'000'000, 'a'));
  EXPECT_EQ(Encode(server_.stub(), texts).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(BadInputTest, C48AReplyOverTheLimitIsRefusedBeforeAnythingIsComputed) {
  // 2,048 texts of 40 tokens of 16 floats each: 5 MiB of token vectors.
  std::string text;
  for (int i = 0; i < 38; ++i) text += "cat ";
  v1::EncodeOptions options;
  options.set_pooling(v1::POOLING_NONE);
  const int64_t before = server_.server().batches_run();
  EXPECT_THAT(Encode(server_.stub(), std::vector<std::string>(2'048, text), options).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "the limit is 4194304"));
  EXPECT_EQ(server_.server().batches_run(), before);
}

TEST_F(BadInputTest, C56InvalidUtf8NeverReachesTheModel) {
  const int64_t before = server_.server().batches_run();
  for (const std::string bytes :
       {"\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF"}) {
    v1::EncodeRequest request;
    request.mutable_texts()->add_values("cat");
    request.mutable_texts()->add_values(bytes);
    EXPECT_FALSE(CallRaw(server_, kEncodeMethod, request.SerializeAsString()).ok());
  }
  EXPECT_EQ(server_.server().batches_run(), before);
}

TEST_F(BadInputTest, TruncatedAndRandomMessages) {
  EXPECT_FALSE(CallRaw(server_, kEncodeMethod, std::string("\x0a\x7f", 2)).ok());
  EXPECT_FALSE(CallRaw(server_, kEncodeMethod, std::string(1000, '\xff')).ok());
  EXPECT_THAT(CallRaw(server_, kEncodeMethod, ""),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "input is not set"));
}

TEST_F(BadInputTest, UnknownFieldsAreIgnored) {
  // Field 1000, varint 1, and nothing else.
  EXPECT_THAT(CallRaw(server_, kEncodeMethod, "\xc0\x3e\x01"),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "input is not set"));
}

TEST_F(BadInputTest, TokenIdsOutsideTheVocabularyAreNamed) {
  EXPECT_THAT(
      Encode(server_.stub(), IdsRequest({1, 2, 100'000})).status,
      GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "token_ids.values[0].values[2] is 100000"));
  EXPECT_THAT(Encode(server_.stub(), IdsRequest({UINT32_MAX})).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "4294967295"));
  EXPECT_THAT(Encode(server_.stub(), IdsRequest({})).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "token_ids.values[0] is empty"));
}

TEST_F(BadInputTest, MoreTokenIdsThanTheModelTakes) {
  v1::EncodeRequest request;
  v1::TokenIds& ids = *request.mutable_token_ids()->add_values();
  for (int i = 0; i < 65; ++i) ids.add_values(1);
  EXPECT_THAT(Encode(server_.stub(), request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "has 65 ids; the limit is 64"));
}

TEST_F(BadInputTest, WrongPoolingAndTruncationNumbers) {
  v1::EncodeOptions options;
  options.set_pooling(static_cast<v1::Pooling>(42));
  EXPECT_THAT(Encode(server_.stub(), {"cat"}, options).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "options.pooling is 42"));
  options.set_pooling(v1::POOLING_MEAN);
  options.set_truncation(static_cast<v1::Truncation>(42));
  EXPECT_THAT(Encode(server_.stub(), {"cat"}, options).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "options.truncation is 42"));
}

TEST_F(BadInputTest, TokenLimitsOutOfRange) {
  v1::EncodeOptions options;
  for (const uint32_t limit : {0u, 1u, 65u, UINT32_MAX}) {
    options.set_max_tokens(limit);
    EXPECT_THAT(Encode(server_.stub(), {"cat"}, options).status,
                GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "it must be from 2 to 64"));
  }
}

TEST_F(BadInputTest, CompressedMessagesAreRefusedUnread) {
  v1::EncodeRequest request;
  request.mutable_texts()->add_values(std::string(100'000, 'a'));
  const auto context = WithDeadline();
  context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::EncodeResponse response;
  EXPECT_EQ(server_.stub().Encode(context.get(), request, &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(BadInputTest, BytesThatAreNotHttp2) {
  for (const std::string& junk : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(64, '\0'),
                                  std::string("\x16\x03\x01\x00\xa5\x01", 6)}) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_.server().port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(send(fd, junk.data(), junk.size(), MSG_NOSIGNAL), static_cast<ssize_t>(junk.size()));
    close(fd);
  }
}

TEST_F(BadInputTest, C53AnExpiredDeadlineNeverComputes) {
  v1::EncodeRequest request;
  request.mutable_texts()->add_values("cat");
  const auto context = WithDeadline(absl::Milliseconds(-1));
  v1::EncodeResponse response;
  const int64_t before = server_.server().batches_run();
  EXPECT_EQ(server_.stub().Encode(context.get(), request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(server_.server().batches_run(), before);
}

}  // namespace
}  // namespace attune
