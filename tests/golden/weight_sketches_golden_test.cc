// Every attention weight of every layer and head of the default model in f32, from 1 token to 512,
// against transformers.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/golden/default_model.h"
#include "tests/golden/formula_weights.h"
#include "tests/golden/golden_file.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Compare;
using ::attune::testing::DefaultModelPath;
using ::attune::testing::Difference;
using ::attune::testing::FloatsOf;
using ::attune::testing::IdsOf;
using ::attune::testing::IsOk;
using ::attune::testing::Mix;
using ::attune::testing::NeedsDefaultModel;
using ::attune::testing::ReadGoldenFile;

// What the product promises of each weight. The sketch of a row moves by as much as one of its
// weights does, so that this holds for each of them, unless several are off and happen to cancel.
// f32 leaves room: transformers' own is up to 4e-6 from its f64 in a weight of 512 tokens, which
// are the few large ones of their row.
constexpr double kTolerance = 1e-5;

// Of each row the sum of weights [seq, seq], each cell with the sign that generate_sketches.py
// gives it.
std::vector<float> Sketch(ConstMatrixView weights) {
  const int64_t seq = weights.rows;
  std::vector<float> sketch;
  for (int64_t i = 0; i < seq; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < seq; ++j) {
      const bool negative = Mix(static_cast<uint32_t>(i * seq + j) * 0x9E3779B9) >> 31;
      sum += negative ? -double{weights.at(i, j)} : double{weights.at(i, j)};
    }
    sketch.push_back(static_cast<float>(sum));
  }
  return sketch;
}

// Sketches the weights of a text, head by head and layer by layer.
class SketchTap final : public LayerTap {
 public:
  SketchTap(int64_t layers, int64_t heads)
      : heads_(heads), sketches_(static_cast<size_t>(layers * heads)) {}

  bool WantsWeights(int64_t, int64_t) override { return true; }
  void OnWeights(int64_t, int64_t layer, int64_t head, ConstMatrixView weights) override {
    sketches_[static_cast<size_t>(layer * heads_ + head)] = Sketch(weights);
  }

  std::vector<float> All() const {
    std::vector<float> all;
    for (const std::vector<float>& head : sketches_)
      all.insert(all.end(), head.begin(), head.end());
    return all;
  }

 private:
  const int64_t heads_;
  std::vector<std::vector<float>> sketches_;  // [layers * heads]
};

TEST(WeightSketchesTest, EveryWeightIsTransformersFrom1TokenTo512) {
  const auto engine = Engine::Load(DefaultModelPath());
  ASSERT_THAT(engine, IsOk()) << NeedsDefaultModel();
  Session session(*engine, 512);
  const ModelConfig& config = (*engine)->config();
  Difference worst;
  const Json golden = ReadGoldenFile("weight_sketches.json");
  for (const Json& text : golden["texts"]) {
    const std::vector<int32_t> ids = IdsOf(text["ids"]);
    std::vector<int32_t> types(ids.size(), 0);
    std::fill(types.begin() + text["second_begin"].get<int64_t>(), types.end(), 1);
    Batch batch;
    batch.Append(ids, types);
    SketchTap tap(config.layers, config.heads);
    ASSERT_THAT(session.Forward(batch, {.tap = &tap}), IsOk());
    const Difference difference = Compare(FloatsOf(text["sketches"]), tap.All());
    EXPECT_LE(difference.max_abs, kTolerance) << ids.size() << " tokens: " << difference;
    if (difference.max_abs > worst.max_abs) worst = difference;
  }
  std::cout << worst << "\n";
}

// By twice the tolerance, wherever it is.
TEST(WeightSketchesTest, OneWeightThatIsOffIsSeen) {
  constexpr int64_t kSeq = 512;
  Matrix weights(kSeq, kSeq);
  for (float& weight : weights.span()) weight = 1.0f / kSeq;
  const std::vector<float> right = Sketch(weights.view());
  for (const int64_t cell : {int64_t{0}, int64_t{77'777}, kSeq * kSeq - 1}) {
    Matrix wrong = Matrix(kSeq, kSeq);
    std::copy(weights.span().begin(), weights.span().end(), wrong.span().begin());
    wrong.span()[static_cast<size_t>(cell)] += 2e-5f;
    EXPECT_GT(Compare(right, Sketch(wrong.view())).max_abs, kTolerance) << "cell " << cell;
  }
}

}  // namespace
}  // namespace attune
