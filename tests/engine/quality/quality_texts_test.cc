#include "engine/quality/quality_texts.h"

#include <set>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(QualityTextsTest, AreAtLeast256DistinctOnes) {
  const std::vector<std::string>& texts = QualityTexts();
  EXPECT_GE(texts.size(), 256u);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
}

TEST(QualityTextsTest, AreTheSameAtEveryCall) {
  EXPECT_EQ(&QualityTexts(), &QualityTexts());
  EXPECT_EQ(QualityTextsDigest().size(), 64u);
  EXPECT_EQ(QualityTextsDigest(), QualityTextsDigest());
}

TEST(QualityTextsTest, SpeakSeveralScripts) {
  int beyond_latin = 0;
  for (const std::string& text : QualityTexts()) {
    // Lead bytes from U+0370 on: Greek, Cyrillic, Hebrew, Arabic, and all of the three-byte ones.
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0xcd) continue;
      ++beyond_latin;
      break;
    }
  }
  EXPECT_GE(beyond_latin, 10);
}

}  // namespace
}  // namespace attune
