#include "client/crc32c.h"

#include <string>

#include "gmock/gmock.h"

namespace attune::internal {
namespace {

// RFC 3720, appendix B.4, and the check value of the Catalogue of parametrised CRC algorithms.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(ExtendCrc32c(0, "123456789"), 0xe3069283u);
}

TEST(Crc32cTest, GoesOnWhereItEnded) {
  EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, "1234"), "56789"), ExtendCrc32c(0, "123456789"));
  EXPECT_EQ(ExtendCrc32c(7, ""), 7u);
}

}  // namespace
}  // namespace attune::internal
