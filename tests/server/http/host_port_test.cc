#include "server/http/host_port.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(HostPortTest, SplitsEveryForm) {
  const struct {
    const char* text;
    const char* host;
    const char* port;
  } cases[] = {
      {"localhost:80", "localhost", "80"}, {"a.b", "a.b", ""},   {"a:", "a", ""},
      {"[::1]:8080", "::1", "8080"},       {"[::1]", "::1", ""}, {"0.0.0.0:0", "0.0.0.0", "0"}};
  for (const auto& expected : cases) {
    const auto parts = SplitHostPort(expected.text);
    ASSERT_TRUE(parts.has_value()) << expected.text;
    EXPECT_EQ(parts->host, expected.host);
    EXPECT_EQ(parts->port, expected.port);
  }
}

TEST(HostPortTest, RefusesWhatIsNone) {
  for (const char* text : {"", ":80", "a:b", "a:80:90", "[::1", "[::1]x", "[]:80", "::1"}) {
    EXPECT_FALSE(SplitHostPort(text).has_value()) << text;
  }
}

TEST(HostPortTest, KnowsLoopbackNamesAndOnlyThese) {
  for (const char* host : {"localhost", "LocalHost", "a.localhost", "127.0.0.1", "127.255.0.9",
                           "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"", "127.0.0.1.example.com", "127.evil", "localhost.example.com",
                           "xlocalhost", "0.0.0.0", "10.0.0.1", "::", "::2", "2130706433"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace attune
