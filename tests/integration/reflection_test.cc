// What generic tools see: reflection, and methods that do not exist.

#include <grpcpp/generic/generic_stub.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::IsGrpcOk;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::HasSubstr;

// Sends one message to a streaming method by its name and returns the first answer's bytes, as a
// tool without generated code does.
std::string CallByName(TestServer& server, const std::string& method, const std::string& message,
                       grpc::Status& status) {
  grpc::GenericStub stub(server.NewChannel());
  grpc::CompletionQueue queue;
  const auto context = WithDeadline();
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto stream = stub.PrepareCall(context.get(), method, &queue);
  stream->StartCall(nullptr);
  next();
  grpc::Slice slice(message);
  stream->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  next();
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  std::string bytes;
  if (next()) {
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(answer.Dump(&slices).ok());
    for (const grpc::Slice& part : slices) {
      bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
  }
  stream->Finish(&status, nullptr);
  next();
  queue.Shutdown();
  return bytes;
}

constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
// ServerReflectionRequest{list_services: "*"}: field 7, one byte long.
constexpr char kListServices[] = "\x3a\x01*";

TEST(ReflectionTest, ListsOurServiceAndHealth) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  grpc::Status status;
  const std::string answer = CallByName(server, kReflection, kListServices, status);
  EXPECT_THAT(status, IsGrpcOk());
  EXPECT_THAT(answer, HasSubstr("attune.v1.EncoderService"));
  EXPECT_THAT(answer, HasSubstr("grpc.health.v1.Health"));
}

TEST(ReflectionTest, AMethodThatDoesNotExistIsUnimplemented) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  grpc::Status status;
  CallByName(server, "/attune.v1.EncoderService/NoSuchMethod", "", status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace attune
