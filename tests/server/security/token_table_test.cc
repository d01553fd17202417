#include "server/security/token_table.h"

#include "absl/strings/str_cat.h"
#include "engine/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

std::string Line(const std::string& name, const std::string& token) {
  return absl::StrCat(name, ":", Sha256Hex(token), "\n");
}

TEST(TokenTableTest, KnowsTheHolderOfEachTokenAndNoOther) {
  const auto table = TokenTable::Parse(absl::StrCat("# who may call\n\n", Line("alice", "a-token"),
                                                    "  ", Line("bob.ci", "b-token")));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table->FindHolder("a-token"), "alice");
  EXPECT_EQ(*table->FindHolder("b-token"), "bob.ci");
  for (const std::string& other : {std::string(), std::string("c-token"), std::string("a-token "),
                                   std::string("a-token\0", 8), Sha256Hex("a-token")}) {
    EXPECT_EQ(table->FindHolder(other), nullptr) << other;
  }
}

TEST(TokenTableTest, AHolderMayHaveAnOldTokenAndANewOne) {
  const auto table = TokenTable::Parse(Line("alice", "old") + Line("alice", "new"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table->FindHolder("old"), "alice");
  EXPECT_EQ(*table->FindHolder("new"), "alice");
}

TEST(TokenTableTest, TakesUpperCaseDigestsAndLinesOfWindows) {
  const auto table = TokenTable::Parse(
      "alice:2BD806C97F0E00AF1A1FC3328FA763A9269723C8DB8FAC4F93AF71DB186D6E90\r\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table->FindHolder("alice"), "alice");
}

TEST(TokenTableTest, WhatIsWrongIsNamedByItsLineAndNeverShown) {
  const std::string digest = Sha256Hex("a-token");
  const std::pair<std::string, std::string> cases[] = {
      {"", "it has no token"},
      {"# nobody\n", "it has no token"},
      {"alice\n", "line 1: it is not of the form NAME:SHA256"},
      {absl::StrCat("\n:", digest), "line 2: a name has 1 to 64"},
      {absl::StrCat(std::string(65, 'a'), ":", digest), "a name has 1 to 64"},
      {absl::StrCat("al ice:", digest), "a name has 1 to 64"},
      {absl::StrCat("alice:", digest.substr(1)), "has 63 characters; it must be 64 hex digits"},
      {absl::StrCat("alice:", digest, " # hers"), "it must be 64 hex digits"},
      {absl::StrCat("alice:g", digest.substr(1)), "it must be 64 hex digits"},
      {Line("alice", "same") + Line("bob", "same"), "line 2: the token is that of alice already"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(TokenTable::Parse(text),
                StatusIs(kInvalid, AllOf(HasSubstr(message), Not(HasSubstr(digest.substr(1))))))
        << text;
  }
}

}  // namespace
}  // namespace attune
