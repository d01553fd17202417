#include "engine/text/json_fields.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(JsonFieldTest, NamesThePathOfWhatIsWrong) {
  const Json document = *ParseJson(R"({"a": {"b": [true, 7]}})");
  const JsonField root(document, "");
  EXPECT_THAT(root.Get("a").Get("b").At(1).String(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.b[1]: must be a string")));
  EXPECT_THAT(root.Get("a").Unsupported("x"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("a: x is not supported")));
}

TEST(JsonFieldTest, AMissingFieldIsNull) {
  const Json document = *ParseJson(R"({"a": 1})");
  const JsonField missing = JsonField(document, "").Get("b").Get("c");
  EXPECT_TRUE(missing.is_null());
  EXPECT_EQ(missing.path(), "b.c");
  EXPECT_THAT(missing.BoolOr(true), IsOkAndHolds(true));
}

TEST(JsonFieldTest, IntegersAreCheckedAgainstTheirRange) {
  const Json document = *ParseJson(R"([5, -1, 11, 18446744073709551615, 1.0, "5"])");
  const JsonField list(document, "list");
  EXPECT_THAT(list.At(0).Integer(0, 10), IsOkAndHolds(5));
  for (size_t i = 1; i < document.size(); ++i) {
    EXPECT_THAT(list.At(i).Integer(0, 10),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0 to 10, not ")));
  }
}

TEST(JsonFieldTest, ChecksTypes) {
  const Json document = *ParseJson(R"(["s", true, {}, []])");
  const JsonField list(document, "list");
  EXPECT_THAT(list.At(0).String(), IsOkAndHolds("s"));
  EXPECT_TRUE(list.At(0).Is("s"));
  EXPECT_FALSE(list.At(1).Is("s"));
  EXPECT_THAT(list.At(1).Bool(), IsOkAndHolds(true));
  EXPECT_FALSE(list.At(0).Bool().ok());
  EXPECT_TRUE(list.At(2).ExpectObject().ok());
  EXPECT_FALSE(list.At(3).ExpectObject().ok());
  EXPECT_TRUE(list.At(3).ExpectArray().ok());
  EXPECT_FALSE(list.At(2).ExpectArray().ok());
}

}  // namespace
}  // namespace attune
