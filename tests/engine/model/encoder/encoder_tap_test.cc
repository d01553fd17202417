#include "engine/model/encoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/model/encoder/encoder_fixture.h"
#include "tests/support/reference_ops.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::Copy;
using testing::EncoderFixture;
using testing::IsOk;
using testing::kPrecisionOf;
using testing::kPrecisions;
using testing::MakeBatch;
using testing::RandomText;
using testing::Recorder;
using testing::RowsOfText;
using testing::SameBits;

class EncoderTapTest : public EncoderFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, EncoderTapTest, kPrecisions, kPrecisionOf);

// Every attention block of a pass, and the hidden states around it.
class AttentionRecorder final : public LayerTap {
 public:
  bool WantsAttention(int64_t) override { return true; }
  void OnAttention(const AttentionStep& step) override {
    steps.push_back({step.text, step.layer, Copy(step.input), Copy(step.qkv), Copy(step.mixed)});
  }
  void OnHidden(int64_t, ConstMatrixView state) override { hidden.push_back(Copy(state)); }

  struct Step {
    int64_t text;
    int64_t layer;
    Matrix input;
    Matrix qkv;
    Matrix mixed;
  };
  std::vector<Step> steps;
  std::vector<Matrix> hidden;
};

TEST_P(EncoderTapTest, ListeningChangesNoBit) {
  const Batch batch =
      MakeBatch({RandomText(40, config_.vocab, 1), RandomText(3, config_.vocab, 2)});
  const Matrix plain = Forward(batch);
  Recorder recorder;
  EXPECT_THAT(Forward(batch, &recorder).view(), SameBits(plain.view()));
  EXPECT_THAT(recorder.hidden.back().view(), SameBits(plain.view()));
}

// How far attention may be from the reference on the same queries, keys and values. f32: sums of up
// to 9 products of weights and values, a few units at most. Otherwise they may be rounded to bf16,
// as the weights are: attention_test.cc.
double MixedTolerance(Precision precision) {
  return precision == Precision::kF32 ? 64 * testing::kEps : 12 / (512 * std::sqrt(3.0));
}

// input + W_o mixed + b_o, normalised, is what the feed-forward half of the layer reads.
TEST_P(EncoderTapTest, TapsSeeTheAttentionBlockOfEachTextAndLayer) {
  const Batch batch = MakeBatch({RandomText(9, config_.vocab, 1), RandomText(4, config_.vocab, 2)});
  AttentionRecorder recorder;
  const Matrix plain = Forward(batch);
  EXPECT_THAT(Forward(batch, &recorder).view(), SameBits(plain.view()));
  ASSERT_EQ(recorder.steps.size(), static_cast<size_t>(2 * config_.layers));
  for (const AttentionRecorder::Step& step : recorder.steps) {
    EXPECT_THAT(step.input.view(),
                SameBits(RowsOfText(recorder.hidden[static_cast<size_t>(step.layer)].view(), batch,
                                    step.text)));
    const testing::ReferenceAttention expected =
        testing::ReferenceSelfAttention(testing::DoubleMatrix(step.qkv.view()), config_.heads);
    EXPECT_THAT(step.mixed.view(), AllNear(expected.dst, MixedTolerance(GetParam())));
  }
}

// A tap that takes each step's rows through the rest of the layer.
class Finisher final : public LayerTap {
 public:
  bool WantsAttention(int64_t) override { return true; }
  void OnAttention(const AttentionStep& step) override {
    const int64_t seq = step.input.rows;
    Matrix residual(Linear::PaddedRows(seq), step.input.cols);
    Matrix mixed(Linear::PaddedRows(seq), step.input.cols);
    for (int64_t i = 0; i < seq; ++i) {
      std::copy(step.input.row(i).begin(), step.input.row(i).end(), residual.row(i).begin());
      std::copy(step.mixed.row(i).begin(), step.mixed.row(i).end(), mixed.row(i).begin());
    }
    EXPECT_THAT(step.finish(residual.view().Rows(0, seq), mixed.view().Rows(0, seq)), IsOk());
    outputs.push_back({step.text, step.layer, Copy(residual.view().Rows(0, seq))});
  }
  void OnHidden(int64_t, ConstMatrixView state) override { hidden.push_back(Copy(state)); }

  struct Output {
    int64_t text;
    int64_t layer;
    Matrix rows;
  };
  std::vector<Output> outputs;
  std::vector<Matrix> hidden;
};

// More rows than a thread computes at a time, and fewer than a group.
TEST_P(EncoderTapTest, TapsCanFinishALayerThemselvesBitForBit) {
  const Batch batch =
      MakeBatch({RandomText(210, config_.vocab, 1), RandomText(3, config_.vocab, 2)});
  const Matrix plain = Forward(batch);
  Finisher finisher;
  EXPECT_THAT(Forward(batch, &finisher).view(), SameBits(plain.view()));
  ASSERT_EQ(finisher.outputs.size(), static_cast<size_t>(2 * config_.layers));
  for (const Finisher::Output& output : finisher.outputs) {
    const Matrix& after = finisher.hidden[static_cast<size_t>(output.layer + 1)];
    EXPECT_THAT(output.rows.view(), SameBits(RowsOfText(after.view(), batch, output.text)))
        << "layer " << output.layer << ", text " << output.text;
  }
}

TEST_P(EncoderTapTest, AnAblationOfNoHeadChangesNoBit) {
  const Batch batch = MakeBatch({RandomText(19, config_.vocab, 1)});
  const HeadAblation none(config_.layers, config_.heads);
  const Matrix plain = Forward(batch);
  const auto ablated = encoder_->Forward(context_, batch, workspace_, {.ablation = &none});
  ASSERT_THAT(ablated, IsOk());
  EXPECT_THAT(*ablated, SameBits(plain.view()));
}

TEST_P(EncoderTapTest, AblatedHeadsGiveNothingOrTheMeanOfTheirTextsValues) {
  const Batch batch = MakeBatch({RandomText(19, config_.vocab, 1), RandomText(1, config_.vocab, 2),
                                 RandomText(8, config_.vocab, 3)});
  HeadAblation ablation(config_.layers, config_.heads);
  ablation.Set(1, 0, AblationMode::kZero);
  ablation.Set(1, 3, AblationMode::kUniform);
  AttentionRecorder recorder;
  ASSERT_THAT(ForwardStatus(batch, {.tap = &recorder, .ablation = &ablation}), IsOk());
  const int64_t head_dim = config_.head_dim();
  for (const AttentionRecorder::Step& step : recorder.steps) {
    if (step.layer != 1) continue;
    const int64_t seq = step.mixed.rows();
    EXPECT_EQ(seq, batch.seq(step.text));
    for (int64_t d = 0; d < head_dim; ++d) {
      const int64_t uniform = 3 * head_dim + d;
      double sum = 0;
      for (int64_t i = 0; i < seq; ++i) {
        sum += double{step.qkv.view().at(i, 2 * config_.hidden + uniform)};
      }
      for (int64_t i = 0; i < seq; ++i) {
        EXPECT_EQ(step.mixed.view().at(i, d), 0);
        EXPECT_NEAR(step.mixed.view().at(i, uniform), sum / static_cast<double>(seq), 1e-6);
      }
    }
  }
}

TEST_P(EncoderTapTest, AUniformHeadIsUniformOverItsWindow) {
  constexpr int64_t kSeq = 9;
  constexpr AttentionWindow kWindow = {.before = 3, .after = 1};
  Batch batch = MakeBatch({RandomText(kSeq, config_.vocab, 1)});
  batch.LimitAttention(kWindow);
  HeadAblation ablation(config_.layers, config_.heads);
  ablation.Set(0, 2, AblationMode::kUniform);
  AttentionRecorder blocks;
  ASSERT_THAT(ForwardStatus(batch, {.tap = &blocks, .ablation = &ablation}), IsOk());
  Recorder recorder;
  ASSERT_THAT(ForwardStatus(batch, {.tap = &recorder, .ablation = &ablation}), IsOk());
  const auto of_head = std::find_if(
      recorder.weights.begin(), recorder.weights.end(),
      [](const Recorder::Weights& weights) { return weights.layer == 0 && weights.head == 2; });
  ASSERT_NE(of_head, recorder.weights.end());
  for (int64_t i = 0; i < kSeq; ++i) {
    const int64_t begin = std::max<int64_t>(0, i - 3);
    const int64_t end = std::min<int64_t>(kSeq, i + 2);
    for (int64_t j = 0; j < kSeq; ++j) {
      const bool seen = j >= begin && j < end;
      EXPECT_FLOAT_EQ(of_head->matrix.view().at(i, j),
                      seen ? 1 / static_cast<float>(end - begin) : 0.0f);
    }
    for (int64_t d = 2 * config_.head_dim(); d < 3 * config_.head_dim(); ++d) {
      double sum = 0;
      for (int64_t j = begin; j < end; ++j) {
        sum += double{blocks.steps[0].qkv.view().at(j, 2 * config_.hidden + d)};
      }
      EXPECT_NEAR(blocks.steps[0].mixed.view().at(i, d), sum / static_cast<double>(end - begin),
                  1e-6);
    }
  }
}

TEST_P(EncoderTapTest, AnAblatedPassHasTheSameBitsWithAndWithoutATap) {
  const Batch batch = MakeBatch({RandomText(19, config_.vocab, 1)});
  HeadAblation ablation(config_.layers, config_.heads);
  ablation.Set(0, 1, AblationMode::kUniform);
  ablation.Set(2, 2, AblationMode::kZero);
  AttentionRecorder recorder;
  const auto tapped =
      encoder_->Forward(context_, batch, workspace_, {.tap = &recorder, .ablation = &ablation});
  ASSERT_THAT(tapped, IsOk());
  const Matrix expected = Copy(*tapped);
  const auto silent = encoder_->Forward(context_, batch, workspace_, {.ablation = &ablation});
  ASSERT_THAT(silent, IsOk());
  EXPECT_THAT(*silent, SameBits(expected.view()));
  EXPECT_THAT(Forward(batch).view(), ::testing::Not(SameBits(expected.view())));
}

}  // namespace
}  // namespace attune
