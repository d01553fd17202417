#include "server/http/head_meter.h"

#include <string>

#include "gtest/gtest.h"

namespace attune {
namespace {

using Excess = HeadMeter::Excess;

constexpr char kFirstLine[] = "GET / HTTP/1.1\r\n";

// A header line of so many bytes.
std::string HeaderOf(size_t bytes) { return "X:" + std::string(bytes - 4, 'a') + "\r\n"; }

TEST(HeadMeterTest, AHeaderMayHaveSoManyBytesAndNoMore) {
  HeadMeter meter;
  EXPECT_EQ(meter.Take(kFirstLine + HeaderOf(8192) + HeaderOf(8192)), Excess::kNone);
  EXPECT_EQ(meter.Take(HeaderOf(8193).substr(0, 8192)), Excess::kNone);
  EXPECT_EQ(meter.Take("\n"), Excess::kHeader);
}

TEST(HeadMeterTest, ThereMayBeSoManyHeadersAndNoMore) {
  HeadMeter meter;
  EXPECT_EQ(meter.Take(kFirstLine), Excess::kNone);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(meter.Take("a: b\r\n"), Excess::kNone);
  EXPECT_EQ(meter.Take("a: b\r"), Excess::kNone);  // it may still be a blank line
  EXPECT_EQ(meter.Take("\n"), Excess::kHeaders);
}

TEST(HeadMeterTest, LinesThatOnlyLookBlankCount) {
  for (const std::string line : {"\n", "a\n", "\r\r\n"}) {
    HeadMeter meter;
    EXPECT_EQ(meter.Take(kFirstLine), Excess::kNone);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(meter.Take(line), Excess::kNone);
    EXPECT_EQ(meter.Take(line), Excess::kHeaders);
  }
}

TEST(HeadMeterTest, TheFirstLineHasTheLimitOfAHeader) {
  HeadMeter fits;
  EXPECT_EQ(fits.Take(HeaderOf(8192) + HeaderOf(8192)), Excess::kNone);
  HeadMeter meter;
  EXPECT_EQ(meter.Take(std::string(8192, 'a')), Excess::kNone);
  EXPECT_EQ(meter.Take("a"), Excess::kFirstLine);
}

TEST(HeadMeterTest, WhatFollowsTheHeadHasNoLimit) {
  HeadMeter meter;
  EXPECT_EQ(meter.Take(std::string(kFirstLine) + "a: b\r\n\r\n"), Excess::kNone);
  EXPECT_EQ(meter.Take(std::string(100'000, 'a') + std::string(1000, '\n')), Excess::kNone);
}

}  // namespace
}  // namespace attune
