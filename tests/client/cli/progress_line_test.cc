#include "client/cli/progress_line.h"

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

TEST(ProgressLineTest, ShowsBarRatesAndTimeLeft) {
  const Progress progress{
      .texts = 1200, .tokens = 9000, .input_bytes = 50, .total_input_bytes = 100};
  EXPECT_EQ(FormatProgress(progress, absl::Seconds(30)),
            "[############------------]  50 %  1200 texts, 40 texts/s, 300 tokens/s, 0:30 left");
}

TEST(ProgressLineTest, HasNoBarWithoutAKnownEnd) {
  const Progress progress{.texts = 10, .tokens = 40, .input_bytes = 50};
  EXPECT_EQ(FormatProgress(progress, absl::Seconds(2)), "10 texts, 5 texts/s, 20 tokens/s");
}

TEST(ProgressLineTest, LeavesOutTokensThatNobodyCounts) {
  EXPECT_EQ(FormatProgress({.texts = 10}, absl::Seconds(2)), "10 texts, 5 texts/s");
}

long BytesDrawn(bool enabled) {
  std::FILE* file = std::tmpfile();
  ProgressLine(file, enabled).Update({.texts = 1});
  const long bytes = std::ftell(file);
  std::fclose(file);
  return bytes;
}

TEST(ProgressLineTest, DrawsOnlyWhenEnabled) {
  EXPECT_EQ(BytesDrawn(/*enabled=*/false), 0);
  EXPECT_GT(BytesDrawn(/*enabled=*/true), 0);
}

long BytesShown(bool enabled) {
  std::FILE* file = std::tmpfile();
  long bytes = 0;
  {
    ProgressLine line(file, enabled);
    line.Show("waiting");
    bytes = std::ftell(file);
  }
  std::fclose(file);
  return bytes;
}

TEST(ProgressLineTest, ShowsALastStepAtOnceIfEnabled) {
  EXPECT_EQ(BytesShown(/*enabled=*/false), 0);
  EXPECT_GT(BytesShown(/*enabled=*/true), 7);
}

}  // namespace
}  // namespace attune::cli
