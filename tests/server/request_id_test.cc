#include "server/request_id.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::MatchesRegex;

TEST(RequestIdTest, KeepsAnIdOfTheAllowedCharacters) {
  for (const std::string& id : {std::string("a"), std::string("Az09._-"), std::string(128, 'x')}) {
    EXPECT_EQ(RequestIdOf(id), id);
  }
}

TEST(RequestIdTest, ReplacesAnyOtherByAFreshOne) {
  for (const std::string& bad :
       {std::string(), std::string(129, 'x'), std::string(10'000, 'x'), std::string("a b"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("\xC3\xA9"), std::string("a/b")}) {
    EXPECT_FALSE(IsRequestId(bad));
    EXPECT_THAT(RequestIdOf(bad), MatchesRegex("[0-9a-f]{32}"));
    EXPECT_NE(RequestIdOf(bad), RequestIdOf(bad));
  }
}

}  // namespace
}  // namespace attune
