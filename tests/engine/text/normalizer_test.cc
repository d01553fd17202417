#include "engine/text/normalizer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NormalizerPass BertUncased() {
  NormalizerPass pass;
  pass.clean_text = true;
  pass.space_chinese_chars = true;
  pass.decompose = true;
  pass.drop_nonspacing_marks = true;
  pass.lowercase = true;
  return pass;
}

NormalizerPass Decomposition() {
  NormalizerPass pass;
  pass.decompose = true;
  return pass;
}

NormalizedText WithOrigins(const Normalizer& normalizer, absl::string_view text, size_t begin = 0) {
  NormalizedText dst;
  NormalizedText scratch;
  normalizer.Normalize(text, begin, /*origins=*/true, &dst, &scratch);
  return dst;
}

TEST(NormalizerTest, WithoutPassesKeepsTheText) {
  EXPECT_EQ(Normalizer({}).Normalize("A\u00e9 \u4e2d\t"), "A\u00e9 \u4e2d\t");
}

TEST(NormalizerTest, BertCleansSpacesStripsAndLowercases) {
  const Normalizer bert({BertUncased()});
  EXPECT_EQ(bert.Normalize("H\u00c9\u200bllo\tW\u0000"), "hello w");
  EXPECT_EQ(bert.Normalize("a\u4e2db"), "a \u4e2d b");
}

TEST(NormalizerTest, C01StandaloneStripAccentsDecomposesNothing) {
  NormalizerPass strip;
  strip.drop_marks = true;
  EXPECT_EQ(Normalizer({strip}).Normalize("H\u00e9llo\u0301"), "H\u00e9llo");
  EXPECT_EQ(Normalizer({Decomposition(), strip}).Normalize("H\u00e9llo\u0301"), "Hello");
}

TEST(NormalizerTest, LowercaseAloneKeepsEverythingElse) {
  NormalizerPass lower;
  lower.lowercase = true;
  EXPECT_EQ(Normalizer({lower}).Normalize("\u0130\u03a3 \u00c9\u200b"),
            "i\u0307\u03c3 \u00e9\u200b");
}

TEST(NormalizerTest, PutsMarksIntoCanonicalOrderStably) {
  // U+0323 (class 220) sorts before U+0301 and U+0300 (230), which keep their order.
  EXPECT_EQ(Normalizer({Decomposition()}).Normalize("a\u0301\u0300\u0323"), "a\u0323\u0301\u0300");
}

TEST(NormalizerTest, C09EveryByteComesFromTheCharacterItReplaces) {
  const NormalizedText text = WithOrigins(Normalizer({BertUncased()}), "\u00c9\uac00b", 10);
  EXPECT_EQ(text.bytes,
            "e\u1100\u1161"
            "b");
  EXPECT_THAT(text.origins, ElementsAre(10, 12, 12, 12, 12, 12, 12, 15));
}

TEST(NormalizerTest, InsertedSpacesComeFromTheCharacterTheySurround) {
  const NormalizedText text = WithOrigins(Normalizer({BertUncased()}), "a\u4e2d");
  EXPECT_EQ(text.bytes, "a \u4e2d ");
  EXPECT_THAT(text.origins, ElementsAre(0, 1, 1, 1, 1, 1));
}

TEST(NormalizerTest, SortedMarksTakeTheOriginsOfTheTextsOrder) {
  const NormalizedText text = WithOrigins(Normalizer({Decomposition()}), "a\u0301\u0323");
  EXPECT_EQ(text.bytes, "a\u0323\u0301");
  EXPECT_THAT(text.origins, ElementsAre(0, 1, 1, 3, 3));
}

TEST(NormalizerTest, RemovedCharactersDoNotSeparateMarks) {
  NormalizerPass pass = Decomposition();
  pass.clean_text = true;
  EXPECT_EQ(Normalizer({pass}).Normalize(absl::string_view("a\u0301\0\u200b\u0323", 9)),
            "a\u0323\u0301");
}

TEST(NormalizerTest, OriginsSurviveSeveralPasses) {
  NormalizerPass lower;
  lower.lowercase = true;
  NormalizerPass strip;
  strip.drop_marks = true;
  const NormalizedText text =
      WithOrigins(Normalizer({Decomposition(), strip, lower}), "x\u00c9\u0301Y", 3);
  EXPECT_EQ(text.bytes, "xey");
  EXPECT_THAT(text.origins, ElementsAre(3, 4, 8));
}

TEST(NormalizerTest, FillsNoOriginsUnlessAsked) {
  NormalizedText dst;
  NormalizedText scratch;
  Normalizer({BertUncased()}).Normalize("\u00c9a", 0, /*origins=*/false, &dst, &scratch);
  EXPECT_EQ(dst.bytes, "ea");
  EXPECT_THAT(dst.origins, IsEmpty());
}

}  // namespace
}  // namespace attune
