#include "server/grpc/grpc_status.h"

#include <string>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(GrpcStatusTest, KeepsCodeAndMessage) {
  const grpc::Status status = ToGrpcStatus(absl::InvalidArgumentError("texts is empty"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "texts is empty");
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(GrpcStatusTest, CutsLongMessagesAtACharacterBorder) {
  // One byte, then three-byte characters: 2,048 falls inside one of them.
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "\xe4\xb8\xad";
  const std::string cut = ToGrpcStatus(absl::InternalError(text)).error_message();
  EXPECT_EQ(cut, text.substr(0, 1 + 3 * 682));
}

}  // namespace
}  // namespace attune
