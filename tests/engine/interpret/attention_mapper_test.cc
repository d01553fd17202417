#include "engine/interpret/attention_mapper.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/interpret/attention_flow.h"
#include "engine/interpret/hidden_similarity.h"
#include "engine/interpret/rollout.h"
#include "engine/model/encoder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/attention_capture.h"
#include "tests/support/random_weights.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::AttentionCapture;
using ::attune::testing::Flat;
using ::attune::testing::IsOk;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomWeights;
using ::attune::testing::StatusIs;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr int64_t kSeq = 13;
constexpr int64_t kLayers = 3;
constexpr int64_t kHeads = 4;
constexpr size_t kCells = kSeq * kSeq;

ModelConfig Config() {
  ModelConfig config;
  config.model_type = "bert";
  config.vocab = 97;
  config.hidden = 60;
  config.layers = kLayers;
  config.heads = kHeads;
  config.ffn = 144;
  config.max_positions = 64;
  config.type_vocab = 2;
  config.layer_norm_epsilon = 1e-12f;
  return config;
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

class AttentionMapperTest : public ::testing::Test {
 protected:
  AttentionMapperTest() {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < kSeq; ++i) ids.push_back((i * 31 + 5) % 97);
    batch_.Append(ids, {});
  }

  static MapQuery Query(MapMatrix matrix) {
    MapQuery query;
    for (int64_t i = 0; i < kLayers; ++i) query.layers.push_back(i);
    for (int64_t i = 0; i < kHeads; ++i) query.heads.push_back(i);
    query.matrix = matrix;
    return query;
  }

  static MapText Text() {
    MapText text;
    text.seq = kSeq;
    text.special.resize(kSeq);
    text.roles.separator.resize(kSeq);
    text.roles.punctuation.resize(kSeq);
    return text;
  }

  Matrix Forward(LayerTap* tap, const HeadAblation* ablation = nullptr) {
    const auto hidden =
        encoder_->Forward(context_, batch_, workspace_, {.tap = tap, .ablation = ablation});
    EXPECT_THAT(hidden, IsOk());
    return testing::CopyOf(*hidden);
  }

  MapResult Map(MapQuery query, const HeadAblation* ablation = nullptr) {
    auto plan = MakeMapPlan(std::move(query), Text());
    EXPECT_THAT(plan, IsOk());
    AttentionMapper mapper(config_, *plan, ablation);
    Forward(&mapper, ablation);
    auto result = mapper.Finish();
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *std::move(result) : MapResult();
  }

  std::vector<float> Values(MapQuery query, const HeadAblation* ablation = nullptr) {
    return FloatsOf(Map(std::move(query), ablation).maps.data);
  }

  const ModelConfig config_ = Config();
  const std::unique_ptr<const Encoder> encoder_ =
      *Encoder::Create(config_, RandomWeights(config_), {});
  OpContext context_;
  EncoderWorkspace workspace_{config_};
  Batch batch_;
};

TEST_F(AttentionMapperTest, WeightsAreThePassesOwnBits) {
  AttentionCapture capture({0, 1, 2}, {0, 1, 2, 3}, kSeq);
  Forward(&capture);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string captured, capture.TakeBytes());
  EXPECT_EQ(Map(Query(MapMatrix::kWeights)).maps.data, captured);
}

TEST_F(AttentionMapperTest, NoQueryChangesTheHiddenState) {
  const std::vector<float> silent = Flat(Forward(nullptr));
  for (const MapMatrix matrix :
       {MapMatrix::kWeights, MapMatrix::kRawScores, MapMatrix::kValueNorm, MapMatrix::kAttnNorm,
        MapMatrix::kResNorm, MapMatrix::kResLnNorm, MapMatrix::kRollout, MapMatrix::kFlow,
        MapMatrix::kValueZeroing, MapMatrix::kHiddenSimilarity, MapMatrix::kNone}) {
    MapQuery query = Query(matrix);
    query.statistics = true;
    const MapPlan plan = *MakeMapPlan(query, Text());
    AttentionMapper mapper(config_, plan, nullptr);
    EXPECT_EQ(Flat(Forward(&mapper)), silent) << static_cast<int>(matrix);
  }
}

TEST_F(AttentionMapperTest, TheSoftmaxOfRawScoresIsTheWeights) {
  const std::vector<float> weights = Values(Query(MapMatrix::kWeights));
  const std::vector<float> scores = Values(Query(MapMatrix::kRawScores));
  ASSERT_EQ(scores.size(), weights.size());
  for (size_t row = 0; row < scores.size(); row += kSeq) {
    double sum = 0;
    for (size_t j = row; j < row + kSeq; ++j) sum += std::exp(double{scores[j]});
    for (size_t j = row; j < row + kSeq; ++j) {
      EXPECT_NEAR(std::exp(double{scores[j]}) / sum, weights[j], 1e-6) << "row " << row / kSeq;
    }
  }
}

TEST_F(AttentionMapperTest, ASelectionIsASliceOfEveryMatrix) {
  for (const MapMatrix matrix :
       {MapMatrix::kWeights, MapMatrix::kRawScores, MapMatrix::kValueNorm}) {
    const std::vector<float> full = Values(Query(matrix));
    MapQuery query = Query(matrix);
    query.layers = {2};
    query.heads = {1, 3};
    const std::vector<float> some = Values(query);
    ASSERT_THAT(some, SizeIs(2 * kCells));
    EXPECT_TRUE(std::equal(some.begin(), some.begin() + kCells, full.begin() + 9 * kCells));
    EXPECT_TRUE(std::equal(some.begin() + kCells, some.end(), full.begin() + 11 * kCells));
  }
  for (const MapMatrix matrix :
       {MapMatrix::kAttnNorm, MapMatrix::kResNorm, MapMatrix::kResLnNorm, MapMatrix::kRollout,
        MapMatrix::kFlow, MapMatrix::kValueZeroing, MapMatrix::kHiddenSimilarity}) {
    const std::vector<float> full = Values(Query(matrix));
    ASSERT_THAT(full, SizeIs(3 * kCells));
    MapQuery query = Query(matrix);
    query.layers = {1};
    const std::vector<float> some = Values(query);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), full.begin() + kCells));
  }
}

TEST_F(AttentionMapperTest, RolloutIsThatOfTheMeanWeights) {
  const std::vector<float> weights = Values(Query(MapMatrix::kWeights));
  const std::vector<float> actual = Values(Query(MapMatrix::kRollout));
  Rollout rollout;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    Matrix mean(kSeq, kSeq);
    for (size_t cell = 0; cell < kCells; ++cell) {
      double sum = 0;
      for (size_t head = 0; head < kHeads; ++head) {
        sum += double{weights[(layer * kHeads + head) * kCells + cell]};
      }
      mean.span()[cell] = static_cast<float>(sum / kHeads);
    }
    rollout.AddLayer(mean.view());
    const std::vector<float> expected = Flat(rollout.product());
    for (size_t cell = 0; cell < kCells; ++cell) {
      EXPECT_NEAR(actual[layer * kCells + cell], expected[cell], 1e-6);
    }
  }
}

TEST_F(AttentionMapperTest, FlowIsThatOfTheMeanWeights) {
  MapQuery mean = Query(MapMatrix::kWeights);
  mean.head_reduction = MapReduction::kMean;
  const std::vector<float> weights = Values(mean);
  const std::vector<float> actual = Values(Query(MapMatrix::kFlow));
  AttentionFlow flow(kSeq);
  for (size_t layer = 0; layer < kLayers; ++layer) {
    flow.AddLayer(ConstMatrixView(weights.data() + layer * kCells, kSeq, kSeq));
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix expected, flow.Flows(nullptr));
    EXPECT_THAT(
        std::vector<float>(actual.begin() + layer * kCells, actual.begin() + (layer + 1) * kCells),
        Pointwise(FloatNear(1e-6f), Flat(expected)));
  }
}

TEST_F(AttentionMapperTest, AMatrixThatTakesLongStopsWhenAsked) {
  for (const MapMatrix matrix : {MapMatrix::kFlow, MapMatrix::kValueZeroing}) {
    const MapPlan plan = *MakeMapPlan(Query(matrix), Text());
    AttentionMapper mapper(config_, plan, nullptr, [] { return true; });
    Forward(&mapper);
    EXPECT_THAT(mapper.Finish(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("before row 0")));
  }
}

// The length of a sum over heads is at most the sum of the heads' lengths.
TEST_F(AttentionMapperTest, NormsObeyTheTriangleInequality) {
  const std::vector<float> by_head = Values(Query(MapMatrix::kValueNorm));
  const std::vector<float> merged = Values(Query(MapMatrix::kAttnNorm));
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (size_t cell = 0; cell < kCells; ++cell) {
      double sum = 0;
      for (size_t head = 0; head < kHeads; ++head) {
        sum += double{by_head[(layer * kHeads + head) * kCells + cell]};
      }
      EXPECT_LE(merged[layer * kCells + cell], sum * (1 + 1e-5));
      EXPECT_GT(merged[layer * kCells + cell], 0);
    }
  }
}

TEST_F(AttentionMapperTest, ReductionsCommuteWithTheirOrder) {
  const std::vector<float> full = Values(Query(MapMatrix::kWeights));
  MapQuery query = Query(MapMatrix::kWeights);
  query.head_reduction = MapReduction::kMean;
  query.layer_reduction = MapReduction::kMean;
  const std::vector<float> mean = Values(query);
  ASSERT_THAT(mean, SizeIs(kCells));
  for (size_t cell = 0; cell < kCells; ++cell) {
    double sum = 0;
    for (size_t map = 0; map < kLayers * kHeads; ++map) sum += double{full[map * kCells + cell]};
    EXPECT_NEAR(mean[cell], sum / (kLayers * kHeads), 1e-6);
  }
}

TEST_F(AttentionMapperTest, StatisticsComeWithoutAMatrix) {
  MapQuery query = Query(MapMatrix::kNone);
  query.layers = {0, 2};
  query.heads = {1};
  query.statistics = true;
  const MapResult result = Map(query);
  EXPECT_TRUE(result.maps.data.empty());
  ASSERT_THAT(result.statistics, SizeIs(2));
  EXPECT_EQ(result.statistics[1].layer, 2);
  EXPECT_EQ(result.statistics[1].head, 1);
  const std::vector<float> weights = Values(Query(MapMatrix::kWeights));
  double self = 0;
  for (size_t i = 0; i < kSeq; ++i) self += double{weights[9 * kCells + i * kSeq + i]} / kSeq;
  EXPECT_NEAR(result.statistics[1].summary.self_mass, self, 1e-6);
}

TEST_F(AttentionMapperTest, WeightMixingIsWhatHeadsGiveToOthers) {
  MapQuery query = Query(MapMatrix::kNone);
  query.mixing_ratio = true;
  const std::vector<float> mixing = Map(query).mixing_ratio;
  ASSERT_THAT(mixing, SizeIs(kLayers * kSeq));
  const std::vector<float> weights = Values(Query(MapMatrix::kWeights));
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (size_t i = 0; i < kSeq; ++i) {
      double own = 0;
      for (size_t head = 0; head < kHeads; ++head) {
        own += double{weights[(layer * kHeads + head) * kCells + i * kSeq + i]} / kHeads;
      }
      EXPECT_NEAR(mixing[layer * kSeq + i], 1 - own, 1e-6);
    }
  }
}

// The weights of norm_maps_test's toy block, whose ratios are worked by hand.
TEST_F(AttentionMapperTest, WeightMixingOfTheToyBlockIsTheOneWorkedByHand) {
  ModelConfig config;
  config.heads = 2;
  MapQuery query;
  query.layers = {0};
  query.heads = {0, 1};
  query.matrix = MapMatrix::kNone;
  query.mixing_ratio = true;
  MapText text;
  text.seq = 3;
  const MapPlan plan = *MakeMapPlan(query, text);
  AttentionMapper mapper(config, plan, nullptr);
  const Matrix first = MatrixOf({{.5, .25, .25}, {.2, .6, .2}, {.1, .1, .8}});
  const Matrix second = MatrixOf({{.1, .7, .2}, {.25, .25, .5}, {.6, .3, .1}});
  mapper.OnWeights(0, 0, 0, first.view());
  mapper.OnWeights(0, 0, 1, second.view());
  const Matrix none(4, 4);
  const std::unique_ptr<const Linear> output = *Linear::Create(none.view(), none.row(0), {});
  const LayerNormWeights norm;
  mapper.OnAttention(AttentionStep{
      .input = {}, .qkv = {}, .mixed = {}, .output = *output, .norm = norm, .context = context_});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const MapResult result, mapper.Finish());
  EXPECT_THAT(result.mixing_ratio, Pointwise(FloatNear(1e-6f), {.7f, .575f, .55f}));
}

TEST_F(AttentionMapperTest, AblatedHeadsShowWhatTheyDidInstead) {
  HeadAblation ablation(kLayers, kHeads);
  ablation.Set(1, 0, AblationMode::kZero);
  ablation.Set(1, 2, AblationMode::kUniform);
  const std::vector<float> plain = Values(Query(MapMatrix::kWeights));
  const std::vector<float> ablated = Values(Query(MapMatrix::kWeights), &ablation);
  EXPECT_TRUE(std::equal(plain.begin(), plain.begin() + 4 * kCells, ablated.begin()));
  for (size_t cell = 0; cell < kCells; ++cell) {
    EXPECT_EQ(ablated[4 * kCells + cell], 0);
    EXPECT_NEAR(ablated[6 * kCells + cell], 1.0 / kSeq, 1e-7);
  }
  // The layer itself reads what it read before; the next one does not.
  EXPECT_TRUE(std::equal(plain.begin() + 5 * kCells, plain.begin() + 6 * kCells,
                         ablated.begin() + 5 * kCells));
  EXPECT_FALSE(std::equal(plain.begin() + 8 * kCells, plain.end(), ablated.begin() + 8 * kCells));
}

TEST_F(AttentionMapperTest, AMeanLeavesZeroedHeadsOut) {
  HeadAblation ablation(kLayers, kHeads);
  ablation.Set(0, 1, AblationMode::kZero);
  MapQuery query = Query(MapMatrix::kWeights);
  query.layers = {0};
  query.head_reduction = MapReduction::kMean;
  const std::vector<float> mean = Values(query, &ablation);
  for (size_t row = 0; row < kCells; row += kSeq) {
    double sum = 0;
    for (size_t j = row; j < row + kSeq; ++j) sum += double{mean[j]};
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(AttentionMapperTest, ALayerWithoutHeadsRollsOutAsTheIdentity) {
  HeadAblation ablation(kLayers, kHeads);
  for (int64_t head = 0; head < kHeads; ++head) ablation.Set(0, head, AblationMode::kZero);
  MapQuery query = Query(MapMatrix::kRollout);
  query.layers = {0};
  const std::vector<float> rollout = Values(query, &ablation);
  for (size_t cell = 0; cell < kCells; ++cell) {
    EXPECT_EQ(rollout[cell], cell % (kSeq + 1) == 0 ? 1 : 0);
  }
}

TEST_F(AttentionMapperTest, HiddenSimilarityIsOfTheStateAfterTheLayer) {
  MapQuery query = Query(MapMatrix::kHiddenSimilarity);
  query.layers = {kLayers - 1};
  const std::vector<float> expected = Flat(HiddenSimilarity(Forward(nullptr).view()));
  EXPECT_EQ(Values(query), expected);
}

}  // namespace
}  // namespace attune
