#include "engine/interpret/norm_maps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::testing::DoubleNear;
using ::testing::FloatNear;
using ::testing::Pointwise;

// The attention block of one layer, as the encoder would hand it to a tap.
struct Block {
  Matrix input;   // [seq, hidden]
  Matrix values;  // [seq, hidden]
  Matrix output;  // [hidden, hidden]: y = mixed * output, head by head in its rows
  Matrix bias;    // [1, hidden]
  LayerNormWeights norm;
  std::vector<Matrix> weights;  // [heads]
  float epsilon = 1e-12f;

  int64_t seq() const { return input.rows(); }
  int64_t hidden() const { return input.cols(); }
  int64_t heads() const { return static_cast<int64_t>(weights.size()); }
  int64_t head_dim() const { return hidden() / heads(); }

  // What an f_h(x_j) is by definition: [hidden].
  std::vector<double> HeadVector(int64_t head, int64_t key) const {
    std::vector<double> vector(static_cast<size_t>(hidden()));
    for (int64_t d = head * head_dim(); d < (head + 1) * head_dim(); ++d) {
      for (int64_t k = 0; k < hidden(); ++k) {
        vector[static_cast<size_t>(k)] +=
            double{values.view().at(key, d)} * double{output.view().at(d, k)};
      }
    }
    return vector;
  }

  // u_ij.
  std::vector<double> Moved(int64_t query, int64_t key) const {
    std::vector<double> moved(static_cast<size_t>(hidden()));
    for (int64_t head = 0; head < heads(); ++head) {
      const std::vector<double> vector = HeadVector(head, key);
      const double weight = weights[static_cast<size_t>(head)].view().at(query, key);
      for (size_t k = 0; k < moved.size(); ++k) moved[k] += weight * vector[k];
    }
    return moved;
  }
};

// Runs `use` with the step that stands for `block`.
template <typename Use>
void WithStep(const Block& block, Use use) {
  Matrix transposed(block.hidden(), block.hidden());
  for (int64_t i = 0; i < block.hidden(); ++i) {
    for (int64_t j = 0; j < block.hidden(); ++j) {
      transposed.view().at(j, i) = block.output.view().at(i, j);
    }
  }
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<const Linear> output,
                              Linear::Create(transposed.view(), block.bias.span(), {}));
  Matrix qkv(block.seq(), 3 * block.hidden());
  Matrix mixed(block.seq(), block.hidden());
  for (int64_t i = 0; i < block.seq(); ++i) {
    std::copy(block.values.row(i).begin(), block.values.row(i).end(),
              qkv.row(i).begin() + 2 * block.hidden());
    for (int64_t d = 0; d < block.hidden(); ++d) {
      const Matrix& weights = block.weights[static_cast<size_t>(d / block.head_dim())];
      double sum = 0;
      for (int64_t j = 0; j < block.seq(); ++j) {
        sum += double{weights.view().at(i, j)} * double{block.values.view().at(j, d)};
      }
      mixed.view().at(i, d) = static_cast<float>(sum);
    }
  }
  OpContext context;
  use(AttentionStep{.input = block.input.view(),
                    .qkv = qkv.view(),
                    .mixed = mixed.view(),
                    .output = *output,
                    .norm = block.norm,
                    .epsilon = block.epsilon,
                    .context = context});
}

// Two heads of two dimensions over three tokens, small enough to work out by hand.
Block ToyBlock() {
  Block block;
  block.input = MatrixOf({{1, 0, 2, -1}, {0, 1, 1, 2}, {2, -1, 0, 1}});
  block.values = MatrixOf({{1.5, 0, 2, -1.5}, {.5, 1, 1, 1.5}, {2.5, -1, 0, .5}});
  block.output = MatrixOf({{1, 0, 1, 0}, {0, 1, 0, -1}, {1, 1, 0, 0}, {0, 0, 2, 1}});
  block.bias = MatrixOf({{.1, -.2, .3, 0}});
  block.norm = {MatrixOf({{1, 2, .5, 1}}), MatrixOf({{0, .1, 0, -.1}})};
  block.weights.push_back(MatrixOf({{.5, .25, .25}, {.2, .6, .2}, {.1, .1, .8}}));
  block.weights.push_back(MatrixOf({{.1, .7, .2}, {.25, .25, .5}, {.6, .3, .1}}));
  return block;
}

Block RandomBlock(int64_t seq, int64_t heads, int64_t head_dim) {
  const int64_t hidden = heads * head_dim;
  Block block;
  block.input = RandomMatrix(seq, hidden, 1);
  block.values = RandomMatrix(seq, hidden, 2);
  block.output = RandomMatrix(hidden, hidden, 3);
  block.bias = RandomMatrix(1, hidden, 4);
  block.norm = {RandomMatrix(1, hidden, 5), RandomMatrix(1, hidden, 6)};
  for (int64_t head = 0; head < heads; ++head) {
    Matrix weights = RandomMatrix(seq, seq, static_cast<uint32_t>(10 + head));
    for (int64_t i = 0; i < seq; ++i) {
      double sum = 0;
      for (float& value : weights.row(i)) sum += value = std::exp(3 * value);
      for (float& value : weights.row(i)) value = static_cast<float>(value / sum);
    }
    block.weights.push_back(std::move(weights));
  }
  return block;
}

double Norm(const std::vector<double>& vector) {
  double sum = 0;
  for (const double value : vector) sum += value * value;
  return std::sqrt(sum);
}

// The definition, with all seq^2 vectors.
struct NaiveMap {
  std::vector<float> norms;
  std::vector<double> mixing_ratio;
};
NaiveMap NaiveNormMap(MapMatrix kind, const Block& block) {
  const auto hidden = static_cast<size_t>(block.hidden());
  NaiveMap map;
  for (int64_t i = 0; i < block.seq(); ++i) {
    std::vector<std::vector<double>> parts;
    std::vector<double> row(hidden);  // before layer normalisation
    for (int64_t j = 0; j < block.seq(); ++j) {
      parts.push_back(block.Moved(i, j));
      for (size_t k = 0; k < hidden; ++k) row[k] += parts.back()[k];
    }
    std::vector<double>& own = parts[static_cast<size_t>(i)];
    for (size_t k = 0; k < hidden; ++k) {
      const double input = block.input.row(i)[k];
      row[k] += input + double{block.bias.row(0)[k]};
      if (kind != MapMatrix::kAttnNorm) own[k] += input;
    }
    if (kind == MapMatrix::kResLnNorm) {
      double mean = 0;
      for (const double value : row) mean += value / static_cast<double>(hidden);
      double variance = block.epsilon;
      for (const double value : row) {
        variance += (value - mean) * (value - mean) / static_cast<double>(hidden);
      }
      for (std::vector<double>& part : parts) {
        double part_mean = 0;
        for (const double value : part) part_mean += value / static_cast<double>(hidden);
        for (size_t k = 0; k < hidden; ++k) {
          part[k] = block.norm.gamma.row(0)[k] * (part[k] - part_mean) / std::sqrt(variance);
        }
      }
    }
    std::vector<double> others(hidden);
    for (int64_t j = 0; j < block.seq(); ++j) {
      const std::vector<double>& part = parts[static_cast<size_t>(j)];
      map.norms.push_back(static_cast<float>(Norm(part)));
      for (size_t k = 0; j != i && k < hidden; ++k) others[k] += part[k];
    }
    map.mixing_ratio.push_back(Norm(others) / (Norm(others) + Norm(own)));
  }
  return map;
}

// References are printed with six digits.
constexpr float kPrinted = 2e-6f;

TEST(NormMapsTest, ToyBlockHasTheNormsWorkedByHand) {
  WithStep(ToyBlock(), [](const AttentionStep& step) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix norms, ValueNorms(step, 2));
    EXPECT_THAT(Flat(norms), Pointwise(FloatNear(kPrinted), {2.121320f, 1.581139f, 3.807887f,
                                                             4.387482f, 3.640055f, 1.118034f}));
  });
}

TEST(NormMapsTest, ToyBlockHasTheMapsWorkedByHand) {
  const Block block = ToyBlock();
  const Block* const toy = &block;
  struct Expected {
    MapMatrix kind;
    std::vector<float> norms;
    std::vector<double> mixing_ratio;
  };
  const std::vector<Expected> all = {{MapMatrix::kAttnNorm,
                                      {1.080509f, 2.678386f, 1.120826f, 1.110462f, 1.475847f,
                                       1.221679f, 2.606722f, 1.143460f, 3.126100f},
                                      {.770889, .494725, .444209}},
                                     {MapMatrix::kResNorm,
                                      {3.341781f, 2.678386f, 1.120826f, 1.110462f, 3.328382f,
                                       1.221679f, 2.606722f, 1.143460f, 5.203124f},
                                      {.521054, .302725, .324412}},
                                     {MapMatrix::kResLnNorm,
                                      {1.193879f, 0.390074f, 0.569129f, 2.736517f, 2.831077f,
                                       3.056017f, 1.322830f, 0.170816f, 3.129980f},
                                      {.416938, .458032, .279409}}};
  for (const Expected& expected : all) {
    WithStep(*toy, [&](const AttentionStep& step) {
      ATTUNE_ASSERT_OK_AND_ASSIGN(const NormMap map,
                                  MakeNormMap(expected.kind, step, toy->weights));
      EXPECT_THAT(Flat(map.norms), Pointwise(FloatNear(kPrinted), expected.norms));
      EXPECT_THAT(map.mixing_ratio, Pointwise(DoubleNear(kPrinted), expected.mixing_ratio));
    });
  }
}

// Sizes below, at and past a block of keys; heads of an odd width.
TEST(NormMapsTest, EqualsTheDefinitionInDoublePrecision) {
  for (const int64_t seq : {1, 15, 16, 37}) {
    const Block block = RandomBlock(seq, 4, 15);
    for (const MapMatrix kind :
         {MapMatrix::kAttnNorm, MapMatrix::kResNorm, MapMatrix::kResLnNorm}) {
      const NaiveMap naive = NaiveNormMap(kind, block);
      WithStep(block, [&](const AttentionStep& step) {
        ATTUNE_ASSERT_OK_AND_ASSIGN(const NormMap map, MakeNormMap(kind, step, block.weights));
        for (size_t cell = 0; cell < naive.norms.size(); ++cell) {
          EXPECT_NEAR(map.norms.span()[cell], naive.norms[cell], 1e-5f * naive.norms[cell] + 1e-9f)
              << seq << " tokens, cell " << cell;
        }
        EXPECT_THAT(map.mixing_ratio, Pointwise(DoubleNear(1e-5), naive.mixing_ratio));
      });
    }
  }
}

}  // namespace
}  // namespace attune
