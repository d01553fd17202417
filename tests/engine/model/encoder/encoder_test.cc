#include "engine/model/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/model/encoder/encoder_fixture.h"
#include "tests/support/random_weights.h"
#include "tests/support/reference_ops.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::Append;
using testing::Copy;
using testing::EncoderFixture;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kPrecisionOf;
using testing::kPrecisions;
using testing::MakeBatch;
using testing::MiniLmFixture;
using testing::RandomText;
using testing::RandomWeights;
using testing::Recorder;
using testing::ReferenceEncode;
using testing::ReferenceEncoding;
using testing::RowsOfText;
using testing::SameBits;
using testing::StatusIs;
using testing::Text;

class EncoderTest : public EncoderFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, EncoderTest, kPrecisions, kPrecisionOf);
class MiniLmEncoderTest : public MiniLmFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, MiniLmEncoderTest, kPrecisions, kPrecisionOf);

// How far a pass may be from the reference, whose numbers are of order 1.
double Tolerance(const ModelConfig& config, Precision precision) {
  // f32: the roundings of a layer's sums, eps * sqrt(terms), through norms and layers.
  if (precision == Precision::kF32) {
    return 8 * testing::kEps * std::sqrt(static_cast<double>(config.ffn)) *
           static_cast<double>(config.layers);
  }
  // Otherwise the rounding of the operands of each product. Its standard deviation relative to an
  // operand is 2^-9 / sqrt(3) in bf16; in int8 it is a step of largest / 127 over sqrt(12), where
  // the largest is up to 5 times the root mean square (GELU's output is skewed). Both operands are
  // rounded, errors of the 4 products of each layer add as random ones do, and 6 standard
  // deviations cover the largest of some thousand outputs.
  const double deviation =
      precision == Precision::kBf16 ? 1 / (512 * std::sqrt(3.0)) : 5 / (127 * std::sqrt(12.0));
  return 6 * deviation * std::sqrt(2.0 * 4.0 * static_cast<double>(config.layers));
}

void ExpectMatchesReference(const ModelConfig& config, double tolerance, const Recorder& recorder,
                            const Batch& batch) {
  const ModelWeights plain = RandomWeights(config);
  for (int64_t text = 0; text < batch.texts(); ++text) {
    const auto first = static_cast<size_t>(batch.row_begin[static_cast<size_t>(text)]);
    const auto seq = static_cast<size_t>(batch.seq(text));
    const ReferenceEncoding expected = ReferenceEncode(
        config, plain, absl::MakeConstSpan(batch.token_ids).subspan(first, seq),
        absl::MakeConstSpan(batch.type_ids).subspan(first, seq), batch.WindowOf(text));
    for (size_t layer = 0; layer < recorder.hidden.size(); ++layer) {
      EXPECT_THAT(RowsOfText(recorder.hidden[layer].view(), batch, text),
                  AllNear(expected.hidden[layer], tolerance))
          << "text " << text << " hidden state " << layer;
    }
    for (const Recorder::Weights& weights : recorder.weights) {
      if (weights.text != text) continue;
      EXPECT_THAT(weights.matrix.view(),
                  AllNear(expected.weights[static_cast<size_t>(weights.layer)]
                                          [static_cast<size_t>(weights.head)],
                          tolerance))
          << "text " << text << " layer " << weights.layer << " head " << weights.head;
    }
  }
}

TEST_P(EncoderTest, MatchesTheReferenceAtEveryLayerAndHead) {
  Batch batch;
  Append(RandomText(1, config_.vocab, 1), 0, batch);
  Append(RandomText(33, config_.vocab, 2), 1, batch);
  Append(RandomText(70, config_.vocab, 3), 0, batch);
  Recorder recorder;
  Forward(batch, &recorder);
  ASSERT_EQ(recorder.hidden.size(), 4u);
  ASSERT_EQ(recorder.weights.size(), 3u * 3u * 4u);
  ExpectMatchesReference(config_, Tolerance(config_, GetParam()), recorder, batch);
}

TEST_P(MiniLmEncoderTest, MatchesTheReferenceAtTheDefaultModelsSizes) {
  const Batch batch =
      MakeBatch({RandomText(9, config_.vocab, 1), RandomText(21, config_.vocab, 2)});
  Recorder recorder;
  Forward(batch, &recorder);
  ExpectMatchesReference(config_, Tolerance(config_, GetParam()), recorder, batch);
}

// C31: alone, in batches of 1, 7 and 32, shuffled.
TEST_P(MiniLmEncoderTest, ATextsBitsDependOnThatTextAlone) {
  constexpr size_t kTexts = 100;
  std::mt19937 random(7);
  std::vector<Text> texts;
  std::vector<Matrix> alone;
  for (size_t i = 0; i < kTexts; ++i) {
    const int64_t seq = 1 + static_cast<int64_t>(random() % 60);
    texts.push_back(RandomText(seq, config_.vocab, static_cast<uint32_t>(i)));
    alone.push_back(Forward(MakeBatch({texts.back()})));
  }
  std::vector<size_t> order(kTexts);
  std::iota(order.begin(), order.end(), size_t{0});
  for (const size_t batch_size : {size_t{7}, size_t{32}, kTexts}) {
    for (size_t begin = 0; begin < kTexts; begin += batch_size) {
      const size_t end = std::min(begin + batch_size, kTexts);
      std::vector<Text> chosen;
      for (size_t i = begin; i < end; ++i) chosen.push_back(texts[order[i]]);
      const Batch batch = MakeBatch(chosen);
      const Matrix hidden = Forward(batch);
      for (size_t i = begin; i < end; ++i) {
        ASSERT_THAT(RowsOfText(hidden.view(), batch, static_cast<int64_t>(i - begin)),
                    SameBits(alone[order[i]].view()))
            << "text " << order[i] << " in a batch of " << batch_size;
      }
    }
    std::shuffle(order.begin(), order.end(), random);
  }
}

// Causal, a narrow window, all and only itself, side by side in one batch.
TEST_P(EncoderTest, EachTextAttendsToItsOwnWindow) {
  Batch batch;
  const auto append = [&](int64_t seq, const AttentionWindow& window) {
    Append(RandomText(seq, config_.vocab, static_cast<uint32_t>(seq)), 0, batch);
    batch.LimitAttention(window);
  };
  append(33, {.after = 0});
  append(50, {.before = 2, .after = 5});
  append(19, {});
  append(7, {.before = 0, .after = 0});
  Recorder recorder;
  const Matrix tapped = Forward(batch, &recorder);
  ExpectMatchesReference(config_, Tolerance(config_, GetParam()), recorder, batch);
  EXPECT_THAT(Forward(batch).view(), SameBits(tapped.view()));
  for (int64_t text = 0; text < batch.texts(); ++text) {
    Batch alone;
    const auto first = static_cast<size_t>(batch.row_begin[static_cast<size_t>(text)]);
    alone.Append(
        absl::MakeConstSpan(batch.token_ids).subspan(first, static_cast<size_t>(batch.seq(text))),
        {});
    alone.LimitAttention(batch.WindowOf(text));
    EXPECT_THAT(Forward(alone).view(), SameBits(RowsOfText(tapped.view(), batch, text)))
        << "text " << text;
  }
}

TEST_P(EncoderTest, EveryLengthHasTheSameBitsAloneAndBetweenOthers) {
  const Text before = RandomText(5, config_.vocab, 1000);
  const Text after = RandomText(11, config_.vocab, 1001);
  for (int64_t seq = 1; seq <= 300; ++seq) {
    const Text text = RandomText(seq, config_.vocab, static_cast<uint32_t>(seq));
    const Matrix alone = Forward(MakeBatch({text}));
    const Batch batch = MakeBatch({before, text, after, text});
    const Matrix hidden = Forward(batch);
    ASSERT_THAT(RowsOfText(hidden.view(), batch, 1), SameBits(alone.view())) << "length " << seq;
    ASSERT_THAT(RowsOfText(hidden.view(), batch, 3), SameBits(alone.view())) << "length " << seq;
  }
}

TEST_P(EncoderTest, ANanStaysInItsText) {
  ModelWeights weights = RandomWeights(config_);
  weights.word_embeddings.view().at(96, 5) = std::nanf("");
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const auto encoder, Encoder::Create(config_, std::move(weights), {.precision = GetParam()}));
  const Text good = RandomText(13, 96, 1);
  const Matrix alone = Forward(MakeBatch({good}));
  const Batch batch = MakeBatch({good, Text{1, 96, 2}, good});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ConstMatrixView hidden,
                              encoder->Forward(context_, batch, workspace_, {}));
  EXPECT_THAT(RowsOfText(hidden, batch, 0), SameBits(alone.view()));
  EXPECT_THAT(RowsOfText(hidden, batch, 2), SameBits(alone.view()));
  for (const float value : RowsOfText(hidden, batch, 1).row(0)) EXPECT_TRUE(std::isnan(value));
  // Neither does the next pass, in the same workspace.
  EXPECT_THAT(Forward(MakeBatch({good})).view(), SameBits(alone.view()));
}

TEST_P(EncoderTest, AUsedWorkspaceGivesTheBitsOfAFreshOne) {
  const Batch batch = MakeBatch({RandomText(21, config_.vocab, 1)});
  const Matrix fresh = Forward(batch);
  Forward(MakeBatch({RandomText(200, config_.vocab, 2), RandomText(150, config_.vocab, 3)}));
  EXPECT_THAT(Forward(batch).view(), SameBits(fresh.view()));
}

TEST_P(EncoderTest, APassSetAsideBetweenLayersResumes) {
  const Batch batch = MakeBatch({RandomText(50, config_.vocab, 1)});
  const Matrix whole = Forward(batch);

  ASSERT_THAT(encoder_->Embed(batch, workspace_), IsOk());
  ASSERT_THAT(encoder_->RunLayer(context_, batch, 0, workspace_, nullptr), IsOk());
  const Matrix saved = Copy(workspace_.hidden());
  Forward(MakeBatch({RandomText(9, config_.vocab, 2)}));

  workspace_.Reserve(batch.tokens());
  std::copy_n(saved.data(), saved.span().size(), workspace_.hidden().data);
  ASSERT_THAT(encoder_->RunLayer(context_, batch, 1, workspace_, nullptr), IsOk());
  ASSERT_THAT(encoder_->RunLayer(context_, batch, 2, workspace_, nullptr), IsOk());
  EXPECT_THAT(workspace_.hidden(), SameBits(whole.view()));
}

TEST_P(EncoderTest, LeavesTheThreadsFloatingPointModeAsItWas) {
  volatile float smallest = std::numeric_limits<float>::min();
  ASSERT_THAT(ForwardStatus(MakeBatch({RandomText(5, config_.vocab, 1)})), IsOk());
  EXPECT_GT(smallest / 2, 0.0f);
}

TEST_P(EncoderTest, AnEmptyBatchHasNoRows) {
  const Matrix hidden = Forward(Batch());
  EXPECT_EQ(hidden.rows(), 0);
}

TEST_P(EncoderTest, StopsBetweenLayersWhenAsked) {
  const Batch batch = MakeBatch({RandomText(5, config_.vocab, 1)});
  int questions = 0;
  const auto after_one_layer = [&questions] { return ++questions == 2; };
  Recorder recorder;
  EXPECT_THAT(ForwardStatus(batch, {.tap = &recorder, .should_stop = after_one_layer}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("before encoder layer 1 of 3")));
  EXPECT_EQ(recorder.hidden.size(), 2u);  // the embedding and one layer
  EXPECT_THAT(ForwardStatus(batch, {.should_stop = [] { return false; }}), IsOk());
}

TEST_P(EncoderTest, RefusesIdsOutsideTheirTables) {
  for (const int32_t bad : {-1, 97}) {
    EXPECT_THAT(ForwardStatus(MakeBatch({Text{1, 2, bad}})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outside [0, 97)")));
  }
  Batch bad_type;
  Append({1}, 2, bad_type);
  EXPECT_THAT(ForwardStatus(bad_type),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type id 2 at token 0")));
}

TEST_P(EncoderTest, RefusesTextsThatAreEmptyOrTooLong) {
  EXPECT_THAT(ForwardStatus(MakeBatch({Text{1}, Text{}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text 1 has 0 tokens")));
  EXPECT_THAT(ForwardStatus(MakeBatch({RandomText(321, config_.vocab, 1)})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes 1 to 320")));
  EXPECT_THAT(ForwardStatus(MakeBatch({RandomText(320, config_.vocab, 1)})), IsOk());
}

}  // namespace
}  // namespace attune
