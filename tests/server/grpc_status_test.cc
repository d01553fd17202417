#include "server/grpc/grpc_status.h"

#include <string>

#include "gtest/gtest.h"
#include "server/rpc_status.h"

namespace attune {
namespace {

TEST(GrpcStatusTest, KeepsCodeAndMessage) {
  const grpc::Status status = ToGrpcStatus(absl::InvalidArgumentError("texts is empty"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "texts is empty");
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(GrpcStatusTest, CutsLongMessagesAtACharacterBorder) {
  // One byte, then three-byte characters, each of which is nine bytes in a trailer.
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "\xe4\xb8\xad";
  const grpc::Status status = ToGrpcStatus(absl::InternalError(text));
  const std::string cut = status.error_message();
  EXPECT_EQ(cut, text.substr(0, cut.size()));
  EXPECT_EQ(cut.size() % 3, 1u);
  EXPECT_LE(3 * cut.size() + status.error_details().size() * 4 / 3, kMaxTrailerBytes);
}

}  // namespace
}  // namespace attune
