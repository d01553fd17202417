#include "engine/base/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace attune {
namespace {

// The vectors of RFC 3720, appendix B.4.
TEST(Crc32cTest, HasThePublishedValues) {
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(ExtendCrc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(0, ""), 0u);
}

TEST(Crc32cTest, ExtendsPieceByPiece) {
  EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, "1234"), "56789"), ExtendCrc32c(0, "123456789"));
}

}  // namespace
}  // namespace attune
