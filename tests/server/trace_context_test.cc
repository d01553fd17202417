#include "server/trace_context.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::MatchesRegex;

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpan[] = "00f067aa0ba902b7";

// A traceparent of the given fields.
std::string Header(const std::string& version, const std::string& trace, const std::string& span,
                   const std::string& rest) {
  return absl::StrCat(version, "-", trace, "-", span, "-", rest);
}

TEST(TraceContextTest, ReadsTheFourFieldsAndOpensASpanOfItsOwn) {
  const auto trace = ParseTraceparent(Header("00", kTrace, kSpan, "01"));
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->trace_id, kTrace);
  EXPECT_EQ(trace->parent_span_id, kSpan);
  EXPECT_TRUE(trace->sampled);
  EXPECT_THAT(trace->span_id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(trace->span_id, kSpan);
}

TEST(TraceContextTest, OnlyTheLowestFlagSaysSampled) {
  for (const char* flags : {"01", "03", "ff", "0b"}) {
    EXPECT_TRUE(ParseTraceparent(Header("00", kTrace, kSpan, flags))->sampled) << flags;
  }
  for (const char* flags : {"00", "02", "fe"}) {
    EXPECT_FALSE(ParseTraceparent(Header("00", kTrace, kSpan, flags))->sampled) << flags;
  }
}

TEST(TraceContextTest, LaterVersionsMayAddFields) {
  EXPECT_TRUE(ParseTraceparent(Header("01", kTrace, kSpan, "01")).has_value());
  EXPECT_TRUE(ParseTraceparent(Header("cc", kTrace, kSpan, "01-what-the-future-holds")));
  EXPECT_FALSE(ParseTraceparent(Header("cc", kTrace, kSpan, "01.more")));
  EXPECT_FALSE(ParseTraceparent(Header("cc", kTrace, kSpan, "011")));
}

TEST(TraceContextTest, EveryFaultIsNoTrace) {
  const std::string zero_trace(32, '0');
  const std::string zero_span(16, '0');
  const std::vector<std::string> faults = {
      "",
      "-",
      "00",
      std::string(55, '-'),
      std::string(55, '0'),
      Header("ff", kTrace, kSpan, "01"),
      Header("FF", kTrace, kSpan, "01"),
      Header("0g", kTrace, kSpan, "01"),
      Header("00", zero_trace, kSpan, "01"),
      Header("00", kTrace, zero_span, "01"),
      Header("00", "4BF92F3577B34DA6A3CE929D0E0E4736", kSpan, "01"),
      Header("00", kTrace, "00F067AA0BA902B7", "01"),
      Header("00", kTrace, kSpan, "0A"),
      Header("00", kTrace, kSpan, "0"),
      Header("00", kTrace, kSpan, "0 "),
      Header("00", kTrace, kSpan, "01-"),
      Header("00", kTrace, kSpan, "01-extra"),
      Header("00", std::string(kTrace).substr(1), kSpan, "01"),
      Header("00", std::string(kTrace) + "0", kSpan, "01"),
      absl::StrCat(" ", Header("00", kTrace, kSpan, "01")),
      Header("00", kTrace, kSpan, "01") + " ",
      Header("00", kTrace, kSpan, "01") + "\n",
      std::string("00-") + kTrace + "_" + kSpan + "-01",
      std::string(10'000, 'a'),
      std::string("00-4bf92f3577b34da6a3ce929d0e0e\0\0\0\0-00f067aa0ba902b7-01", 55),
  };
  for (const std::string& fault : faults) {
    EXPECT_FALSE(ParseTraceparent(fault).has_value()) << fault;
  }
}

TEST(TraceContextTest, AFaultyHeaderBeginsANewTrace) {
  const TraceContext one = TraceOf("nonsense");
  const TraceContext two = TraceOf("");
  EXPECT_THAT(one.trace_id, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(one.span_id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(one.parent_span_id, "");
  EXPECT_NE(one.trace_id, two.trace_id);
  EXPECT_EQ(TraceOf(Header("00", kTrace, kSpan, "00")).trace_id, kTrace);
}

TEST(TraceContextTest, TheStateOfATraceStaysWithIt) {
  EXPECT_EQ(TraceOf(Header("00", kTrace, kSpan, "01"), {"vendor=1"}).tracestate, "vendor=1");
  EXPECT_EQ(TraceOf(Header("00", kTrace, kSpan, "01")).tracestate, "");
  EXPECT_EQ(TraceOf("nonsense", {"vendor=1"}).tracestate, "") << "it is of another trace";
}

}  // namespace
}  // namespace attune
