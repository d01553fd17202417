#include "engine/base/log.h"

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The lines that `write` logs, each parsed.
template <typename Function>
std::vector<Json> Logged(Function write) {
  ::testing::internal::CaptureStderr();
  write();
  const std::string output = ::testing::internal::GetCapturedStderr();
  std::vector<Json> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    absl::StatusOr<Json> json = ParseJson(line);
    EXPECT_TRUE(json.ok()) << json.status() << " in " << line;
    if (json.ok()) lines.push_back(*std::move(json));
  }
  return lines;
}

TEST(LogTest, WritesOneJsonObjectALine) {
  const std::vector<Json> lines = Logged([] {
    Log(LogLevel::kInfo, "serving", "ready",
        {{"port", 50051}, {"model", "tiny"}, {"tls", false}, {"load", 0.25}});
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0]["level"], "info");
  EXPECT_EQ(lines[0]["event"], "serving");
  EXPECT_EQ(lines[0]["msg"], "ready");
  EXPECT_EQ(lines[0]["port"], 50051);
  EXPECT_EQ(lines[0]["model"], "tiny");
  EXPECT_EQ(lines[0]["tls"], false);
  EXPECT_EQ(lines[0]["load"], 0.25);
  EXPECT_THAT(lines[0]["ts"].get<std::string>(),
              ::testing::MatchesRegex("....-..-..T..:..:......Z"));
}

TEST(LogTest, HostileTextStaysWithinItsField) {
  const std::string hostile = std::string("a\nb\r\x1b[2J\"}\\ \xFF\xC0\x80", 16) + '\0' + "end";
  const std::vector<Json> lines = Logged([&] {
    Log(LogLevel::kWarning, hostile, hostile, {{hostile, absl::string_view(hostile)}});
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0]["msg"].get<std::string>(), HasSubstr("a\nb\r\x1b[2J\"}\\ \xEF\xBF\xBD"));
  EXPECT_THAT(lines[0], SizeIs(5));
}

TEST(LogTest, NumbersKeepTheirDigitsAndNonFiniteOnesBecomeNull) {
  const std::vector<Json> lines = Logged([] {
    Log(LogLevel::kInfo, "e", "m",
        {{"exact", 1234567.875},
         {"nan", std::numeric_limits<double>::quiet_NaN()},
         {"inf", -std::numeric_limits<double>::infinity()},
         {"max", std::numeric_limits<uint64_t>::max()}});
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0]["exact"], 1234567.875);
  EXPECT_TRUE(lines[0]["nan"].is_null());
  EXPECT_TRUE(lines[0]["inf"].is_null());
  EXPECT_EQ(lines[0]["max"], std::numeric_limits<uint64_t>::max());
}

TEST(LogTest, DropsLinesBelowTheLevel) {
  const std::vector<Json> lines = Logged([] {
    SetLogLevel(LogLevel::kWarning);
    Log(LogLevel::kInfo, "quiet", "");
    Log(LogLevel::kWarning, "loud", "");
    SetLogLevel(LogLevel::kInfo);
    Log(LogLevel::kDebug, "quiet", "");
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0]["event"], "loud");
}

TEST(LogTest, LinesOfTwoThreadsDoNotInterleave) {
  constexpr int kLines = 200;
  const std::vector<Json> lines = Logged([] {
    const auto write = [] {
      for (int i = 0; i < kLines; ++i) {
        // Of one event, ten lines a second are written.
        Log(LogLevel::kInfo, absl::StrCat("busy_", i / 5), std::string(300, 'x'), {{"i", i}});
      }
    };
    std::thread other(write);
    write();
    other.join();
  });
  EXPECT_THAT(lines, SizeIs(2 * kLines));
}

TEST(LogTest, AFloodOfOneEventIsHeldBackAndOthersAreNot) {
  bool made = false;
  const std::vector<Json> lines = Logged([&made] {
    for (int i = 0; i < 1000; ++i) Log(LogLevel::kInfo, "flood", "");
    LogSampled(LogLevel::kInfo, "flood", "", [&made]() -> std::vector<LogField> {
      made = true;
      return {};
    });
    Log(LogLevel::kInfo, "another", "");
  });
  // The loop may see the second change, hence the margin.
  EXPECT_LE(lines.size(), 31u);
  EXPECT_EQ(lines.back()["event"], "another");
  if (lines.size() == 11) {
    EXPECT_FALSE(made);
  }
}

TEST(LogTest, TextIsForPeopleAndStillOneLine) {
  ::testing::internal::CaptureStderr();
  SetLogFormat(LogFormat::kText);
  Log(LogLevel::kWarning, "serving", "ready\nfor more", {{"port", 50051}, {"model", "a \x1b b"}});
  SetLogFormat(LogFormat::kJson);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::MatchesRegex("....-..-..T..:..:......Z warning serving "
                                      "\"ready\\\\nfor more\" port=50051 "
                                      "model=\"a \\\\u001b b\"\n"));
}

TEST(LogTest, ParsesTheTwoFormatsAndNothingElse) {
  EXPECT_THAT(ParseLogFormat("json"), IsOkAndHolds(LogFormat::kJson));
  EXPECT_THAT(ParseLogFormat("text"), IsOkAndHolds(LogFormat::kText));
  EXPECT_THAT(ParseLogFormat("xml"), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("\"xml\" is not json or text")));
}

TEST(LogTest, ParsesTheFourLevelsAndNothingElse) {
  EXPECT_THAT(ParseLogLevel("debug"), IsOkAndHolds(LogLevel::kDebug));
  EXPECT_THAT(ParseLogLevel("error"), IsOkAndHolds(LogLevel::kError));
  for (const char* name : {"", "INFO", "warn", "trace"}) {
    EXPECT_THAT(ParseLogLevel(name), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("debug, info, warning, error")));
  }
}

}  // namespace
}  // namespace attune
