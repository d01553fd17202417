#include "engine/model/encoder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/random_weights.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

namespace {

// All, and those that could hold activations: oneDNN allocates a few hundred bytes of bookkeeping
// at every call.
constexpr size_t kActivationBytes = 4096;
std::atomic<int> allocations{0};
std::atomic<int> large_allocations{0};

void* CountedAllocation(size_t bytes, size_t alignment) {
  ++allocations;
  if (bytes >= kActivationBytes) ++large_allocations;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return CountedAllocation(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return CountedAllocation(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace attune {
namespace {

using testing::AllNear;
using testing::Copy;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RandomWeights;
using testing::ReferenceEncode;
using testing::ReferenceEncoding;
using testing::SameBits;
using testing::StatusIs;

using Text = std::vector<int32_t>;

// Small, but with a hidden size past a cache line, heads of an odd width and more than one layer.
ModelConfig SmallConfig() {
  ModelConfig config;
  config.model_type = "bert";
  config.vocab = 97;
  config.hidden = 60;
  config.layers = 3;
  config.heads = 4;
  config.ffn = 144;
  config.max_positions = 320;
  config.type_vocab = 2;
  config.layer_norm_epsilon = 1e-12f;
  config.activation = Activation::kGelu;
  return config;
}

// The sizes of the default model, with fewer layers and words.
ModelConfig ShallowMiniLmConfig() {
  ModelConfig config = testing::MiniLmConfig();
  config.vocab = 97;
  config.layers = 2;
  return config;
}

// null if this CPU has no kernels for `precision`.
std::unique_ptr<const Encoder> MakeEncoder(const ModelConfig& config, Precision precision) {
  auto encoder = Encoder::Create(config, RandomWeights(config), {.precision = precision});
  if (absl::IsUnimplemented(encoder.status())) return nullptr;
  EXPECT_THAT(encoder, IsOk());
  return *std::move(encoder);
}

Text RandomText(int64_t seq, int64_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  Text text(static_cast<size_t>(seq));
  for (int32_t& id : text) id = static_cast<int32_t>(random() % static_cast<uint32_t>(vocab));
  return text;
}

void Append(const Text& text, int32_t type, Batch& batch) {
  batch.token_ids.insert(batch.token_ids.end(), text.begin(), text.end());
  batch.type_ids.insert(batch.type_ids.end(), text.size(), type);
  batch.row_begin.push_back(static_cast<int64_t>(batch.token_ids.size()));
}

Batch MakeBatch(const std::vector<Text>& texts) {
  Batch batch;
  for (const Text& text : texts) Append(text, 0, batch);
  return batch;
}

ConstMatrixView RowsOfText(ConstMatrixView hidden, const Batch& batch, int64_t text) {
  const int64_t begin = batch.row_begin[static_cast<size_t>(text)];
  return hidden.Rows(begin, begin + batch.seq(text));
}

// Every hidden state and every weight matrix of a pass.
class Recorder final : public LayerTap {
 public:
  bool WantsWeights(int64_t, int64_t) override { return true; }
  void OnWeights(int64_t text, int64_t layer, int64_t head, ConstMatrixView matrix) override {
    weights.push_back({text, layer, head, Copy(matrix)});
  }
  void OnHidden(int64_t layer, ConstMatrixView state) override {
    EXPECT_EQ(layer, static_cast<int64_t>(hidden.size()));
    hidden.push_back(Copy(state));
  }

  struct Weights {
    int64_t text;
    int64_t layer;
    int64_t head;
    Matrix matrix;
  };
  std::vector<Weights> weights;
  std::vector<Matrix> hidden;
};

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

class EncoderTest : public ::testing::TestWithParam<Precision> {
 protected:
  explicit EncoderTest(const ModelConfig& config = SmallConfig()) : config_(config) {}

  void SetUp() override {
    if (encoder_ == nullptr) GTEST_SKIP() << "no kernels for this precision on " << EffectiveIsa();
  }

  // The last hidden state, copied.
  Matrix Forward(const Batch& batch, LayerTap* tap = nullptr) {
    const auto hidden = encoder_->Forward(context_, batch, workspace_, {.tap = tap});
    EXPECT_THAT(hidden, IsOk());
    return hidden.ok() ? Copy(*hidden) : Matrix();
  }

  absl::Status ForwardStatus(const Batch& batch, const Encoder::ForwardOptions& options = {}) {
    return encoder_->Forward(context_, batch, workspace_, options).status();
  }

  const ModelConfig config_;
  const std::unique_ptr<const Encoder> encoder_ = MakeEncoder(config_, GetParam());
  OpContext context_;
  EncoderWorkspace workspace_{config_, GetParam()};
};

class MiniLmEncoderTest : public EncoderTest {
 protected:
  MiniLmEncoderTest() : EncoderTest(ShallowMiniLmConfig()) {}
};

const auto kPrecisions = ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8);
const auto kPrecisionOf = [](const ::testing::TestParamInfo<Precision>& precision) {
  return std::string(PrecisionName(precision.param));
};
INSTANTIATE_TEST_SUITE_P(Precisions, EncoderTest, kPrecisions, kPrecisionOf);
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

TEST_P(EncoderTest, AUniformHeadIsUniformOverItsWindow) {
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

TEST_P(EncoderTest, ListeningChangesNoBit) {
  const Batch batch =
      MakeBatch({RandomText(40, config_.vocab, 1), RandomText(3, config_.vocab, 2)});
  const Matrix plain = Forward(batch);
  Recorder recorder;
  EXPECT_THAT(Forward(batch, &recorder).view(), SameBits(plain.view()));
  EXPECT_THAT(recorder.hidden.back().view(), SameBits(plain.view()));
}

TEST_P(EncoderTest, AnAblationOfNoHeadChangesNoBit) {
  const Batch batch = MakeBatch({RandomText(19, config_.vocab, 1)});
  const HeadAblation none(config_.layers, config_.heads);
  const Matrix plain = Forward(batch);
  const auto ablated = encoder_->Forward(context_, batch, workspace_, {.ablation = &none});
  ASSERT_THAT(ablated, IsOk());
  EXPECT_THAT(*ablated, SameBits(plain.view()));
}

TEST_P(EncoderTest, AblatedHeadsGiveNothingOrTheMeanOfTheirTextsValues) {
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

TEST_P(EncoderTest, AnAblatedPassHasTheSameBitsWithAndWithoutATap) {
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

// How far attention may be from the reference on the same queries, keys and values. f32: sums of up
// to 9 products of weights and values, a few units at most. Otherwise they may be rounded to bf16,
// as the weights are: attention_test.cc.
double MixedTolerance(Precision precision) {
  return precision == Precision::kF32 ? 64 * testing::kEps : 12 / (512 * std::sqrt(3.0));
}

// input + W_o mixed + b_o, normalised, is what the feed-forward half of the layer reads.
TEST_P(EncoderTest, TapsSeeTheAttentionBlockOfEachTextAndLayer) {
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
TEST_P(EncoderTest, TapsCanFinishALayerThemselvesBitForBit) {
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

TEST_P(EncoderTest, HelpersChangeNoBit) {
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

TEST_P(MiniLmEncoderTest, HelpersChangeNoBitAtTheDefaultModelsSizes) {
  for (const int64_t seq : {16, 100, 512}) {
    const Batch batch = MakeBatch({RandomText(seq, config_.vocab, 1)});
    ASSERT_THAT(ForwardWithHelpers(*encoder_, batch, 1).view(), SameBits(Forward(batch).view()))
        << seq << " tokens";
  }
}

TEST_P(EncoderTest, HelpersWhoNeverComeDelayNothing) {
  const Batch batch = MakeBatch({RandomText(50, config_.vocab, 1)});
  const Matrix alone = Forward(batch);
  EncoderTeam team(3);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ConstMatrixView hidden,
                              encoder_->Forward(context_, batch, workspace_, {.team = &team}));
  EXPECT_THAT(hidden, SameBits(alone.view()));
}

TEST_P(EncoderTest, DismissesItsTeamWhenThePassFails) {
  EncoderTeam team(1);
  EXPECT_FALSE(ForwardStatus(MakeBatch({Text{-1}}), {.team = &team}).ok());
  // Returns, since there is nothing left to help with.
  Encoder::Help(context_, workspace_, team, [] { return false; });
}

TEST_P(EncoderTest, HasNoWorkForHelpersInAFewTokens) {
  EXPECT_EQ(Encoder::MostHelpers(1), 0);
  EXPECT_EQ(Encoder::MostHelpers(15), 0);
  EXPECT_GE(Encoder::MostHelpers(512), 7);
}

TEST_P(EncoderTest, OneRowPerTextHasTheBitsOfTheWholePass) {
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

TEST_P(EncoderTest, AllocatesNoActivationsOnceWarm) {
  const Batch large =
      MakeBatch({RandomText(300, config_.vocab, 1), RandomText(40, config_.vocab, 2)});
  const Batch small = MakeBatch({RandomText(17, config_.vocab, 3)});
  ASSERT_THAT(ForwardStatus(large), IsOk());
  const int before = large_allocations;
  ASSERT_THAT(ForwardStatus(small), IsOk());
  ASSERT_THAT(ForwardStatus(large), IsOk());
  EXPECT_EQ(large_allocations, before);
}

TEST_P(MiniLmEncoderTest, OwnKernelsAllocateNothingOnceWarm) {
  if (!absl::StartsWith(encoder_->kernel_name(), "native:")) {
    GTEST_SKIP() << "this CPU has none for this precision";
  }
  const Batch large =
      MakeBatch({RandomText(300, config_.vocab, 1), RandomText(40, config_.vocab, 2)});
  const Batch small = MakeBatch({RandomText(17, config_.vocab, 3)});
  ASSERT_THAT(ForwardStatus(large), IsOk());
  const int before = allocations;
  const bool small_ran = ForwardStatus(small).ok();
  const bool large_ran = ForwardStatus(large).ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(small_ran && large_ran);
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
