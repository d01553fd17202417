#include "engine/model/encoder.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/model/encoder/encoder_fixture.h"

namespace attune {
namespace {

using testing::Copy;
using testing::EncoderFixture;
using testing::IsOk;
using testing::kPrecisionOf;
using testing::kPrecisions;
using testing::MakeBatch;
using testing::MiniLmFixture;
using testing::RandomText;
using testing::SameBits;
using testing::Text;

class EncoderTeamTest : public EncoderFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, EncoderTeamTest, kPrecisions, kPrecisionOf);
class MiniLmEncoderTeamTest : public MiniLmFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, MiniLmEncoderTeamTest, kPrecisions, kPrecisionOf);

// The same pass with helpers on other threads, as the server's idle workers are.
Matrix ForwardWithHelpers(const Encoder& encoder, const Batch& batch, int helpers,
                          TextRows rows = TextRows::kAll) {
  EncoderTeam team(helpers);
  std::vector<std::thread> threads;
  for (int i = 0; i < helpers; ++i) {
    threads.emplace_back([&] {
      OpContext context;
      EncoderWorkspace workspace(encoder.config(), encoder.precision());
      Encoder::Help(context, workspace, team, [] { return false; });
    });
  }
  OpContext context;
  EncoderWorkspace workspace(encoder.config(), encoder.precision());
  const auto hidden = encoder.Forward(context, batch, workspace, {.rows = rows, .team = &team});
  EXPECT_THAT(hidden, IsOk());
  Matrix copy = hidden.ok() ? Copy(*hidden) : Matrix();
  for (std::thread& thread : threads) thread.join();
  return copy;
}

TEST_P(EncoderTeamTest, HelpersChangeNoBit) {
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{1}, {7}, {16}, {25}, {300}, {3, 90, 17}}) {
    std::vector<Text> texts;
    for (const int64_t seq : lengths) {
      texts.push_back(RandomText(seq, config_.vocab, static_cast<uint32_t>(seq)));
    }
    const Batch batch = MakeBatch(texts);
    const Matrix alone = Forward(batch);
    for (const int helpers : {1, 2, 3, 7}) {
      ASSERT_THAT(ForwardWithHelpers(*encoder_, batch, helpers).view(), SameBits(alone.view()))
          << batch.tokens() << " tokens, " << helpers << " helpers";
    }
  }
}

TEST_P(MiniLmEncoderTeamTest, HelpersChangeNoBitAtTheDefaultModelsSizes) {
  for (const int64_t seq : {16, 100, 512}) {
    const Batch batch = MakeBatch({RandomText(seq, config_.vocab, 1)});
    ASSERT_THAT(ForwardWithHelpers(*encoder_, batch, 1).view(), SameBits(Forward(batch).view()))
        << seq << " tokens";
  }
}

TEST_P(EncoderTeamTest, OneRowPerTextHasTheBitsOfTheWholePass) {
  const Batch batch =
      MakeBatch({RandomText(1, config_.vocab, 1), RandomText(130, config_.vocab, 2),
                 RandomText(1, config_.vocab, 3), RandomText(31, config_.vocab, 4)});
  const Matrix all = Forward(batch);
  for (const TextRows rows : {TextRows::kFirst, TextRows::kLast}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const ConstMatrixView hidden,
                                encoder_->Forward(context_, batch, workspace_, {.rows = rows}));
    ASSERT_EQ(hidden.rows, batch.texts());
    const Matrix shared = ForwardWithHelpers(*encoder_, batch, 2, rows);
    for (int64_t text = 0; text < batch.texts(); ++text) {
      const int64_t row = rows == TextRows::kFirst
                              ? batch.row_begin[static_cast<size_t>(text)]
                              : batch.row_begin[static_cast<size_t>(text) + 1] - 1;
      const ConstMatrixView expected = ConstMatrixView(all.view()).Rows(row, row + 1);
      EXPECT_THAT(hidden.Rows(text, text + 1), SameBits(expected)) << "text " << text;
      EXPECT_THAT(shared.view().Rows(text, text + 1), SameBits(expected)) << "text " << text;
    }
    // Nothing is left behind for the next pass.
    EXPECT_THAT(Forward(batch).view(), SameBits(all.view()));
  }
}

TEST_P(EncoderTeamTest, HelpersWhoNeverComeDelayNothing) {
  const Batch batch = MakeBatch({RandomText(50, config_.vocab, 1)});
  const Matrix alone = Forward(batch);
  EncoderTeam team(3);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ConstMatrixView hidden,
                              encoder_->Forward(context_, batch, workspace_, {.team = &team}));
  EXPECT_THAT(hidden, SameBits(alone.view()));
}

TEST_P(EncoderTeamTest, DismissesItsTeamWhenThePassFails) {
  EncoderTeam team(1);
  EXPECT_FALSE(ForwardStatus(MakeBatch({Text{-1}}), {.team = &team}).ok());
  // Returns, since there is nothing left to help with.
  Encoder::Help(context_, workspace_, team, [] { return false; });
}

TEST_P(EncoderTeamTest, HasNoWorkForHelpersInAFewTokens) {
  EXPECT_EQ(Encoder::MostHelpers(1), 0);
  EXPECT_EQ(Encoder::MostHelpers(15), 0);
  EXPECT_GE(Encoder::MostHelpers(512), 7);
}

}  // namespace
}  // namespace attune
