#include "engine/base/json.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
// Messages end up in logs and terminals: a few hundred bytes, whatever the file holds.
constexpr size_t kMaxMessageBytes = 400;

std::string Nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonTest, KeepsIntegersAndFloatsApart) {
  const auto parsed = ParseJson(
      "[0, -1, 1.0, 1e2, 9223372036854775807, -9223372036854775808, 18446744073709551615,"
      " 18446744073709551616, -9223372036854775809, 1000000000000000019884624838656]");
  ASSERT_THAT(parsed, IsOk());
  const Json& json = *parsed;
  EXPECT_TRUE(json[0].is_number_unsigned());
  EXPECT_TRUE(json[1].is_number_integer());
  EXPECT_TRUE(json[2].is_number_float());
  EXPECT_TRUE(json[3].is_number_float());
  EXPECT_EQ(json[4].get<int64_t>(), INT64_MAX);
  EXPECT_EQ(json[5].get<int64_t>(), INT64_MIN);
  EXPECT_EQ(json[6].get<uint64_t>(), UINT64_MAX);
  // Beyond 64 bits an integer becomes a float, so that it can never pass for an offset or a size.
  EXPECT_TRUE(json[7].is_number_float());
  EXPECT_TRUE(json[8].is_number_float());
  EXPECT_DOUBLE_EQ(json[9].get<double>(), 1e30);
}

TEST(JsonTest, KeepsTheOrderOfTheFile) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(R"({"z": 1, "a": 2, "m": 3})"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("z", "a", "m"));
}

TEST(JsonTest, RefusesADuplicateKeyAtAnyDepth) {
  EXPECT_THAT(ParseJson(R"({"a": 1, "b": 2, "a": 1})"),
              StatusIs(kInvalid, HasSubstr(R"(duplicate key "a")")));
  EXPECT_THAT(ParseJson(R"([{"x": {"a": 1, "a": {}}}])"),
              StatusIs(kInvalid, HasSubstr(R"(duplicate key "a")")));
  // The same key, spelled with an escape.
  EXPECT_THAT(ParseJson(R"({"a": 1, "\u0061": 2})"),
              StatusIs(kInvalid, HasSubstr(R"(duplicate key "a")")));
  EXPECT_THAT(ParseJson(R"([{"a": 1}, {"a": {"a": 1}}])"), IsOk());
}

TEST(JsonTest, RefusesWhatRfc8259DoesNotAllow) {
  for (const char* text : {"",          " ",           "{",         "[1,]",  "{\"a\":1,}",
                           "{'a':1}",   "// c\n1",     "/* c */1",  "NaN",   "Infinity",
                           "-Infinity", "01",          "+1",        ".5",    "1.",
                           "0x10",      "1 2",         "{\"a\" 1}", "[1}",   "\"\t\"",
                           "\"\\x\"",   "\"\\ud800\"", "tru",       "{1:2}", "{\"a\":1}x"}) {
    EXPECT_THAT(ParseJson(text), StatusIs(kInvalid, HasSubstr("not valid JSON at byte"))) << text;
  }
  // The library under ParseJson takes a NUL for the end of the text.
  EXPECT_THAT(ParseJson(absl::string_view("{}\0x", 4)),
              StatusIs(kInvalid, HasSubstr("not valid JSON at byte 2")));
  EXPECT_THAT(ParseJson(absl::string_view("\"\0\"", 3)),
              StatusIs(kInvalid, HasSubstr("not valid JSON at byte 1")));
}

TEST(JsonTest, CheckingFindsTheFaultsOfParsing) {
  for (const char* text : {R"({"a": [1, {"b": null}], "c": "d"})", "{}", R"({"a": 1, "a": 2})",
                           R"([{"a": 1, "a": 2}])", R"({"a": [[1e400]]})", R"({"a": "\ud800"})",
                           R"({"a": 1)", "{}{}", "[[]]", "1", "null", "\"{}\""}) {
    for (const JsonLimits& limits :
         {JsonLimits(), JsonLimits{.max_depth = 1}, JsonLimits{.max_values = 2}}) {
      const absl::StatusOr<Json> parsed = ParseJson(text, limits);
      const absl::StatusOr<Json::value_t> checked = CheckJson(text, limits);
      EXPECT_EQ(checked.status(), parsed.status()) << text;
      if (parsed.ok() && checked.ok()) {
        EXPECT_EQ(*checked, parsed->type()) << text;
      }
    }
  }
}

TEST(JsonTest, RefusesANumberThatNoDoubleHolds) {
  EXPECT_THAT(ParseJson("[1e400]"), StatusIs(kInvalid, HasSubstr("number overflow")));
  EXPECT_THAT(ParseJson(absl::StrCat("[-", std::string(400, '9'), "]")),
              StatusIs(kInvalid, HasSubstr("number overflow")));
}

TEST(JsonTest, RefusesInvalidUtf8WithItsPlace) {
  for (const char* bytes : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF"}) {
    EXPECT_THAT(ParseJson(absl::StrCat("[\"ab", bytes, "\"]")),
                StatusIs(kInvalid, AllOf(HasSubstr("at byte"), HasSubstr("UTF-8"))));
  }
  EXPECT_THAT(ParseJson("[\"\xF0\x9F\x91\xA9\"]"), IsOk());
}

TEST(JsonTest, StopsAtTheDepthLimit) {
  const JsonLimits limits = {.max_depth = 5};
  EXPECT_THAT(ParseJson(Nested(5), limits), IsOk());
  EXPECT_THAT(ParseJson(Nested(6), limits),
              StatusIs(kInvalid, HasSubstr("nested deeper than 5 levels")));
  EXPECT_THAT(ParseJson(R"({"a":{"a":{"a":{"a":{"a":{}}}}}})", limits),
              StatusIs(kInvalid, HasSubstr("nested deeper than 5 levels")));
}

TEST(JsonTest, SurvivesAMillionOpenBrackets) {
  EXPECT_THAT(ParseJson(std::string(1'000'000, '[')),
              StatusIs(kInvalid, HasSubstr("nested deeper than 64 levels")));
  EXPECT_THAT(ParseJson(Nested(1'000'000)),
              StatusIs(kInvalid, HasSubstr("nested deeper than 64 levels")));
}

TEST(JsonTest, StopsAtTheValueLimit) {
  // The array itself counts, and so do keys.
  EXPECT_THAT(ParseJson("[1,2,3]", {.max_values = 4}), IsOk());
  EXPECT_THAT(ParseJson("[1,2,3,4]", {.max_values = 4}),
              StatusIs(kInvalid, HasSubstr("more than 4 keys and values")));
  EXPECT_THAT(ParseJson(R"({"a":1})", {.max_values = 3}), IsOk());
  EXPECT_THAT(ParseJson(R"({"a":1,"b":2})", {.max_values = 4}),
              StatusIs(kInvalid, HasSubstr("more than 4 keys and values")));
}

TEST(JsonTest, ErrorMessagesStayShortWhateverTheTextHolds) {
  const std::string huge(1'000'000, 'k');
  const std::string texts[] = {absl::StrCat("[\"", huge), absl::StrCat("{\"", huge, "\" 1}"),
                               absl::StrCat("{\"", huge, "\":1,\"", huge, "\":2}"),
                               absl::StrCat("[1e", std::string(1'000'000, '9'), "]")};
  for (const std::string& text : texts) {
    const absl::Status status = ParseJson(text).status();
    EXPECT_THAT(status, Not(IsOk()));
    EXPECT_LE(status.message().size(), kMaxMessageBytes);
  }
}

TEST(JsonTest, QuotesAnyBytesAsOneValidString) {
  EXPECT_EQ(QuoteJson("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(QuoteJson(absl::string_view("\n\x01\0", 3)), R"("\n\u0001\u0000")");
  EXPECT_EQ(QuoteJson("x\xFFy"), "\"x\xEF\xBF\xBDy\"");
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  EXPECT_THAT(ParseJson(QuoteJson(all_bytes)), IsOk());
}

TEST(JsonTest, ShortensAtACharacterBoundary) {
  EXPECT_EQ(ShortenForMessage("short"), "short");
  std::string text(119, 'a');
  text += "\xE2\x82\xAC and so on";  // the euro sign lies across the cut
  EXPECT_EQ(ShortenForMessage(text), std::string(119, 'a') + "...");
}

}  // namespace
}  // namespace attune
