#include "engine/text/double_array_trie.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace attune {
namespace {

std::vector<std::pair<absl::string_view, int32_t>> Keys(const std::map<std::string, int32_t>& map) {
  return {map.begin(), map.end()};
}

TEST(DoubleArrayTrieTest, FindsTheLongestKey) {
  const DoubleArrayTrie trie({{"a", 1}, {"abc", 2}, {"b", 3}});
  EXPECT_EQ(trie.LongestPrefix("abcd").length, 3u);
  EXPECT_EQ(trie.LongestPrefix("abcd").value, 2);
  EXPECT_EQ(trie.LongestPrefix("abd").length, 1u);  // "ab" is only on the way
  EXPECT_EQ(trie.LongestPrefix("abd").value, 1);
  EXPECT_EQ(trie.LongestPrefix("x").length, 0u);
  EXPECT_EQ(trie.LongestPrefix("").length, 0u);
}

TEST(DoubleArrayTrieTest, ContinuesFromTheNodeOfAPath) {
  const DoubleArrayTrie trie({{"##", 1}, {"##ing", 2}, {"ing", 3}});
  const auto node = trie.Find("##");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(trie.LongestPrefix("ings", *node).value, 2);
  EXPECT_EQ(trie.LongestPrefix("x", *node).length, 0u);  // the path alone does not count
  EXPECT_FALSE(trie.Find("#x").has_value());
  EXPECT_EQ(trie.Find(""), DoubleArrayTrie::kRoot);
}

TEST(DoubleArrayTrieTest, KeysMayHoldAnyByte) {
  const DoubleArrayTrie trie(
      {{absl::string_view("\0", 1), 1}, {absl::string_view("\0\xFF", 2), 2}, {"\xFF", 3}});
  EXPECT_EQ(trie.LongestPrefix(absl::string_view("\0\xFFx", 3)).value, 2);
  EXPECT_EQ(trie.LongestPrefix(absl::string_view("\0x", 2)).value, 1);
  EXPECT_EQ(trie.LongestPrefix("\xFFx").value, 3);
  EXPECT_EQ(trie.LongestPrefix("x").length, 0u);
}

TEST(DoubleArrayTrieTest, WithoutKeysFindsNothing) {
  const DoubleArrayTrie trie({{"", 5}});  // an empty key is left out
  EXPECT_EQ(trie.LongestPrefix("a").length, 0u);
  EXPECT_EQ(trie.LongestPrefix(absl::string_view("\0", 1)).length, 0u);
  EXPECT_FALSE(trie.Find("a").has_value());
}

TEST(DoubleArrayTrieTest, OfEqualKeysTheLastWins) {
  const DoubleArrayTrie trie({{"a", 1}, {"b", 2}, {"a", 3}});
  EXPECT_EQ(trie.LongestPrefix("a").value, 3);
  EXPECT_EQ(trie.LongestPrefix("b").value, 2);
}

TEST(DoubleArrayTrieTest, AgreesWithASearchInAMap) {
  std::mt19937 random(7);
  for (const unsigned alphabet : {2u, 20u, 256u}) {
    const auto word = [&random, alphabet](size_t length) {
      std::string bytes;
      for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(random() % alphabet));
      return bytes;
    };
    std::map<std::string, int32_t> keys;
    for (int32_t i = 0; i < 3000; ++i) keys[word(1 + random() % 7)] = i;
    const DoubleArrayTrie trie(Keys(keys));
    for (int i = 0; i < 3000; ++i) {
      const std::string text = word(random() % 10);
      size_t length = text.size();
      while (length > 0 && keys.count(text.substr(0, length)) == 0) --length;
      const DoubleArrayTrie::Match match = trie.LongestPrefix(text);
      ASSERT_EQ(match.length, length);
      ASSERT_EQ(match.value, length > 0 ? keys[text.substr(0, length)] : -1);
    }
  }
}

}  // namespace
}  // namespace attune
