#include "client/server_target.h"

#include <string>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

ServerTarget Parse(const std::string& address) {
  const absl::StatusOr<ServerTarget> server = ParseServerAddress(address);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.value_or(ServerTarget());
}

TEST(ServerTargetTest, OneServerIsTakenAsItIs) {
  for (const char* address :
       {"encoder", "encoder.example:50051", "[::1]:50051", "ipv4:10.0.0.1:1",
        "dns:///encoder:50051", "dns://127.0.0.1:53/encoder:50051", "unix:/run/attune"}) {
    EXPECT_EQ(Parse(address).target, address);
    EXPECT_EQ(Parse(address).authority, "") << address;
  }
}

TEST(ServerTargetTest, AListIsOneTargetAndCallsItsServersByTheFirst) {
  for (const char* list : {"10.0.0.1:50051,10.0.0.2:1", "ipv4:10.0.0.1:50051,10.0.0.2:1"}) {
    EXPECT_EQ(Parse(list).target, "ipv4:10.0.0.1:50051,10.0.0.2:1");
    EXPECT_EQ(Parse(list).authority, "10.0.0.1:50051");
  }
  for (const char* list : {"[fd00::1]:50051,[::1]:65535", "ipv6:[fd00::1]:50051,[::1]:65535"}) {
    EXPECT_EQ(Parse(list).target, "ipv6:%5Bfd00::1%5D:50051,%5B::1%5D:65535");
    EXPECT_EQ(Parse(list).authority, "[fd00::1]:50051");
  }
}

TEST(ServerTargetTest, NamesWhatDoesNotBelongInAList) {
  const struct {
    const char* list;
    const char* message;
  } cases[] = {
      {"", "address is empty"},
      {"10.0.0.1:1,encoder:1", "address has \"encoder:1\" in a list"},
      {"dns:///a:1,b:1", "address has \"dns:///a:1\""},
      {"10.0.0.1:1,", "address has \"\""},
      {"10.0.0.1:1, 10.0.0.2:1", "address has \" 10.0.0.2:1\""},
      {"10.0.0.1,10.0.0.2", "address has \"10.0.0.1\""},
      {"10.0.0.1:1,10.0.0.2:0", "address has \"10.0.0.2:0\""},
      {"10.0.0.1:1,10.0.0.2:65536", "address has \"10.0.0.2:65536\""},
      {"::1:1,::2:1", "address has \"::1:1\""},
      {"10.0.0.1:1,[::1]:1", "\"10.0.0.1:1\" and \"[::1]:1\": a list is all IPv4 or all IPv6"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseServerAddress(c.list),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace attune
