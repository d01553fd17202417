#include "server/trace_state.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

std::string Members(int count) {
  std::vector<std::string> members;
  for (int i = 0; i < count; ++i) members.push_back(absl::StrCat("k", i, "=v"));
  return absl::StrJoin(members, ",");
}

TEST(TraceStateTest, WhatIsWellFormedIsHandedOnAsItIs) {
  const std::vector<std::string> states = {
      "congo=t61rcWkgMzE",
      "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
      "rojo=1 ,\t congo=2",
      "fw529a3039@dt=FfAAA;bB/:[]{}~!",
      "0digit=first",
      "a_-*/=blank inside",
      ",,a=b,",
      absl::StrCat(std::string(256, 'k'), "=", std::string(255, 'v')),
      Members(32),
  };
  for (const std::string& state : states) EXPECT_EQ(TraceStateOf({state}), state);
}

TEST(TraceStateTest, SeveralLinesAreOneList) {
  EXPECT_EQ(TraceStateOf({"a=1", "b=2,c=3"}), "a=1,b=2,c=3");
  EXPECT_EQ(TraceStateOf({std::string(300, 'a'), "b=2"}), "");
  const std::string half = absl::StrCat("a=", std::string(254, 'v'));
  EXPECT_EQ(TraceStateOf({half, absl::StrCat("b=", std::string(253, 'v'))}).size(), 512u);
  EXPECT_EQ(TraceStateOf({half, absl::StrCat("b=", std::string(254, 'v'))}), "") << "513 bytes";
}

TEST(TraceStateTest, AnyFaultDropsAllOfIt) {
  const std::vector<std::string> faults = {
      "",
      " ",
      ",,",
      "key",
      "key=",
      "key= ",
      "=value",
      "Upper=1",
      "_first=1",
      "a b=1",
      "a =1",
      "a=1=2",
      "a=1,b",
      "a=1;b=2,c",
      "a=\n",
      "a=1\n",
      "a=\x7f",
      "a=\xc3\xa4",
      std::string("a=\0", 3),
      absl::StrCat("a=", std::string(257, 'v')),
      absl::StrCat(std::string(257, 'k'), "=1"),
      Members(33),
      std::string(100'000, 'a'),
  };
  for (const std::string& fault : faults) EXPECT_EQ(TraceStateOf({fault}), "") << fault;
}

}  // namespace
}  // namespace attune
