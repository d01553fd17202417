#include "client/cli/head_table.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HeadSummaries ThreeHeads() {
  HeadSummaries heads;
  for (const uint32_t head : {0u, 1u, 2u}) {
    v1::HeadSummary& summary = *heads.Add();
    summary.set_layer(head / 2);
    summary.set_head(head % 2);
    summary.set_entropy(head == 1 ? 2.5f : 0.1f);
  }
  heads[1].set_label(v1::HEAD_LABEL_PUNCTUATION);
  heads[1].set_broad(true);
  return heads;
}

std::vector<uint32_t> Heads(const HeadSummaries& heads) {
  std::vector<uint32_t> numbers;
  for (const v1::HeadSummary& head : heads) numbers.push_back(head.layer() * 2 + head.head());
  return numbers;
}

TEST(HeadTableTest, ATableFitsEightyColumns) {
  const std::vector<std::string> lines = absl::StrSplit(HeadTable(ThreeHeads()), '\n');
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "layer  head  self  prev  next   cls   sep  punct  nats  dist  conf  label");
  EXPECT_EQ(lines[2],
            "    0     1  0.00  0.00  0.00  0.00  0.00   0.00  2.50   0.0  0.00  punctuation");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u);
}

TEST(HeadTableTest, SortsTheLargestFirstAndEqualOnesByPlace) {
  HeadSummaries heads = ThreeHeads();
  SortHeads("entropy", heads);
  EXPECT_THAT(Heads(heads), ElementsAre(1, 0, 2));
  SortHeads("head", heads);
  EXPECT_THAT(Heads(heads), ElementsAre(0, 2, 1));
  SortHeads("layer", heads);
  EXPECT_THAT(Heads(heads), ElementsAre(0, 1, 2));
}

TEST(HeadTableTest, SortsByNumbersOnly) {
  EXPECT_THAT(HeadFieldNames(), AllOf(Contains("layer"), Contains("symmetry"),
                                      Not(Contains("label")), Not(Contains("broad"))));
}

TEST(HeadTableTest, CsvHasEveryField) {
  const std::vector<std::string> lines = absl::StrSplit(HeadCsv(ThreeHeads()), '\n');
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0],
              AllOf(StartsWith("layer,head,self_mass,"), HasSubstr(",label,broad,focused")));
  EXPECT_THAT(lines[1], AllOf(StartsWith("0,0,0,"), HasSubstr(",0.1,")));
  EXPECT_THAT(lines[2], HasSubstr("punctuation,true,false"));
  const size_t fields = static_cast<size_t>(v1::HeadSummary::descriptor()->field_count());
  for (int i = 0; i < 4; ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[static_cast<size_t>(i)], ',');
    EXPECT_EQ(cells.size(), fields);
  }
}

TEST(HeadTableTest, JsonHasEveryFieldInAsFewDigitsAsItNeeds) {
  const Json json = HeadsToJson(ThreeHeads());
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["entropy"].dump(), "0.1");
  EXPECT_EQ(json[1]["label"], "punctuation");
  EXPECT_EQ(json[1]["broad"], true);
  EXPECT_EQ(json[2]["layer"], 1);
  EXPECT_EQ(json[2]["label"], "");
}

}  // namespace
}  // namespace attune::cli
