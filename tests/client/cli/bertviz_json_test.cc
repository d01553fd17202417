#include "client/cli/bertviz_json.h"

#include <string>
#include <vector>

#include "client/attention_values.h"
#include "client/cli/json.h"
#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"

namespace attune::cli {
namespace {

using ::attune::testing::CountingMap;

TEST(BertVizJsonTest, NestsLayersHeadsRowsAndColumns) {
  v1::AttentionMapResponse map = CountingMap(2, 2, 2, 2);
  map.set_layers(1, 5);
  const std::vector<float> values = *AttentionValues(map);
  const auto text = BertVizJson(map, values, {"a", "\"b\""}, 10'000);
  ASSERT_TRUE(text.has_value());
  const Json json = Json::parse(*text);
  const Json& attention = json["attention"][0];
  EXPECT_EQ(attention["attn"], Json::parse("[[[[0, 1], [2, 3]], [[4, 5], [6, 7]]],"
                                           " [[[8, 9], [10, 11]], [[12, 13], [14, 15]]]]"));
  EXPECT_EQ(attention["left_text"], Json::parse(R"(["a", "\"b\""])"));
  EXPECT_EQ(attention["right_text"], attention["left_text"]);
  EXPECT_EQ(json["include_layers"], Json::parse("[0, 5]"));
}

TEST(BertVizJsonTest, GivesUpAtItsLimit) {
  const v1::AttentionMapResponse map = CountingMap(1, 1, 1, 1);
  const auto whole = BertVizJson(map, std::vector<float>{0.123456f}, {"a"}, 10'000);
  ASSERT_TRUE(whole.has_value());
  EXPECT_NE(whole->find("0.1235"), std::string::npos);
  EXPECT_TRUE(BertVizJson(map, std::vector<float>{0.123456f}, {"a"}, whole->size()).has_value());
  EXPECT_FALSE(
      BertVizJson(map, std::vector<float>{0.123456f}, {"a"}, whole->size() - 1).has_value());
}

}  // namespace
}  // namespace attune::cli
