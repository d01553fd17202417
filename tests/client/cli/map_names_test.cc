#include "client/cli/map_names.h"

#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens a to e, of which rows stand for c and d, columns for all.
v1::AttentionMapResponse MapOfTokens() {
  v1::AttentionMapResponse map = CountingMap(1, 1, 2, 5);
  for (const char* text : {"a", "b", "c", "d", "e"}) map.add_tokens()->set_text(text);
  for (const uint32_t query : {2u, 3u}) map.add_queries(query);
  for (uint32_t key = 0; key < 5; ++key) map.add_keys(key);
  return map;
}

TEST(MapNamesTest, AreThoseOfTheChosenTokens) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapNames names, NamesOfMap(MapOfTokens()));
  EXPECT_THAT(names.queries, ElementsAre("c", "d"));
  EXPECT_THAT(names.keys, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(MapNamesTest, AreWordsWhereTheLevelIsWord) {
  v1::AttentionMapResponse map = MapOfTokens();
  for (const char* text : {"ab", "c", "d", "e", "f"}) map.add_words()->set_text(text);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapNames names, NamesOfMap(map));
  EXPECT_THAT(names.queries, ElementsAre("d", "e"));
}

TEST(MapNamesTest, OfASmallPictureAreTheFirstOfEachRun) {
  v1::AttentionMapResponse map = MapOfTokens();
  map.set_shape(3, 2);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapNames names, NamesOfMap(map));
  EXPECT_THAT(names.keys, ElementsAre("a", "c"));
}

TEST(MapNamesTest, OfPooledQueriesIsTheEmbedding) {
  v1::AttentionMapResponse map = MapOfTokens();
  map.clear_queries();
  map.set_shape(2, 1);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapNames names, NamesOfMap(map));
  EXPECT_THAT(names.queries, ElementsAre("embedding"));
}

TEST(MapNamesTest, OfTheMassOfBlocksAreTheTexts) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapNames names, NamesOfMap(CountingMap(1, 1, 2, 2)));
  EXPECT_THAT(names.queries, ElementsAre("A", "B"));
  EXPECT_THAT(names.keys, ElementsAre("A", "B"));
}

TEST(MapNamesTest, RefusesNamesThatAreNotThoseOfTheShape) {
  v1::AttentionMapResponse beyond = MapOfTokens();
  beyond.set_keys(4, 5);
  v1::AttentionMapResponse few = MapOfTokens();
  few.mutable_keys()->RemoveLast();
  v1::AttentionMapResponse rows = MapOfTokens();
  rows.clear_queries();
  for (const auto& map : {beyond, few, rows, CountingMap(1, 1, 3, 2)}) {
    EXPECT_THAT(NamesOfMap(map).status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("the server sent a map of")));
  }
}

TEST(MapNamesTest, TitlesSayWhichLayerAndHead) {
  v1::AttentionMapResponse map = CountingMap(2, 3, 1, 1);
  map.set_layers(1, 5);
  v1::AttentionQuery query;
  EXPECT_EQ(MapTitle(map, query, 1, 2), "layer 5, head 2");
  map.set_shape(1, 1);
  query.set_head_reduction(v1::ATTENTION_REDUCTION_MAX);
  EXPECT_EQ(MapTitle(map, query, 0, 0), "layer 0, max of heads 0, 1, 2");
  map.add_heads(3);
  map.add_heads(4);
  map.set_shape(0, 1);
  EXPECT_EQ(MapTitle(map, query, 0, 0), "mean of layers 0, 5, max of 5 heads");
  map.clear_heads();
  EXPECT_EQ(MapTitle(map, query, 0, 0), "mean of layers 0, 5");
}

}  // namespace
}  // namespace attune::cli
