// The default model, all-MiniLM-L6-v2, in each precision against transformers in f32. Needs the
// model's folder: in the environment variable ATTUNE_TEST_MODEL, or in the cache that the product
// uses.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/file_reader.h"
#include "engine/base/sha256.h"
#include "engine/engine.h"
#include "engine/model/batch.h"
#include "engine/tensor/finite.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/default_model.h"
#include "tests/golden/golden_file.h"
#include "tests/support/attention_capture.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::AttentionCapture;
using ::attune::testing::Compare;
using ::attune::testing::Cosine;
using ::attune::testing::DefaultModelPath;
using ::attune::testing::Difference;
using ::attune::testing::FloatsOf;
using ::attune::testing::IdsOf;
using ::attune::testing::IsOk;
using ::attune::testing::NeedsDefaultModel;
using ::attune::testing::NumbersOf;
using ::attune::testing::ReadGoldenFile;
using ::attune::testing::SameBits;
using ::testing::ElementsAre;

// How far a precision may be from the reference. Cosines are what the product promises; the others
// follow from the size of the roundings.
struct Tolerances {
  double min_cosine;
  double vector;  // a component of a text vector of length 1
  double weight;  // an attention weight
  double hidden;  // a component of a hidden state, of order 1
};

Tolerances TolerancesOf(Precision precision) {
  if (precision == Precision::kF32) return {0.999999, 1e-5, 1e-5, 1e-5};
  // Hidden states are off by a relative 1e-2 (bf16) or 3e-2 (int8) of their length. Spread over the
  // components like noise, the largest of some thousand is 5 times the average, and components
  // reach
  // 3. A score of up to 10 carries twice the relative error, a weight p at most p (1 - p) = 1/4 of
  // that. In a unit vector of 384 components 2 sin(angle / 2) bounds every difference.
  const bool bf16 = precision == Precision::kBf16;
  const double relative = bf16 ? 1e-2 : 3e-2;
  const double min_cosine = bf16 ? 0.9999 : 0.99;
  return {min_cosine, std::sqrt(2 * (1 - min_cosine)), 10 * 2 * relative / 4, 5 * relative * 3};
}

using TokenIds = std::vector<int32_t>;
using Vector = std::vector<float>;

const Json& Golden() {
  static const Json* golden = new Json(ReadGoldenFile("all_minilm_l6_v2.json"));
  return *golden;
}

// Loaded once per precision and kept: loading is most of a test's time.
const absl::StatusOr<std::shared_ptr<const Engine>>& EngineOf(Precision precision) {
  static auto* engines = new std::map<Precision, absl::StatusOr<std::shared_ptr<const Engine>>>;
  const auto found = engines->find(precision);
  if (found != engines->end()) return found->second;
  return engines->emplace(precision, Engine::Load(DefaultModelPath(), {.precision = precision}))
      .first->second;
}

class DefaultModelTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const auto& loaded = EngineOf(GetParam());
    if (absl::IsUnimplemented(loaded.status())) GTEST_SKIP() << loaded.status();
    ASSERT_THAT(loaded, IsOk()) << NeedsDefaultModel();
    session_ = std::make_unique<Session>(*loaded, 512);
  }

  const Engine& engine() const { return session_->engine(); }
  Tolerances tolerances() const { return TolerancesOf(GetParam()); }

  // The last hidden state of one text, [seq * hidden]. Fails the test if the pass fails.
  Vector Hidden(const TokenIds& ids, LayerTap* tap = nullptr) {
    Batch batch;
    batch.Append(ids, {});
    const auto hidden = session_->Forward(batch, {.tap = tap, .should_stop = nullptr});
    EXPECT_THAT(hidden, IsOk());
    if (!hidden.ok()) return {};
    return Vector(hidden->data, hidden->data + hidden->rows * hidden->cols);
  }

  // The text vectors of `texts` in one batch.
  std::vector<Vector> Encode(absl::Span<const TokenIds> texts) {
    Batch batch;
    for (const TokenIds& ids : texts) batch.Append(ids, {});
    std::vector<Vector> vectors(texts.size());
    const auto hidden = session_->Forward(batch, {});
    EXPECT_THAT(hidden, IsOk());
    const Engine::PoolingPlan plan = engine().default_pooling();
    for (size_t i = 0; hidden.ok() && i < texts.size(); ++i) {
      vectors[i].resize(static_cast<size_t>(plan.dimension(engine().config().hidden)));
      const ConstMatrixView rows = hidden->Rows(batch.row_begin[i], batch.row_begin[i + 1]);
      EXPECT_THAT(PoolText(plan, rows, absl::MakeSpan(vectors[i])), IsOk());
    }
    return vectors;
  }

  // The same, `batch_size` texts at a time.
  std::vector<Vector> EncodeInBatches(const std::vector<TokenIds>& texts, size_t batch_size) {
    std::vector<Vector> vectors;
    for (size_t begin = 0; begin < texts.size(); begin += batch_size) {
      for (Vector& vector : Encode(absl::MakeConstSpan(texts).subspan(begin, batch_size))) {
        vectors.push_back(std::move(vector));
      }
    }
    return vectors;
  }

 private:
  std::unique_ptr<Session> session_;
};

INSTANTIATE_TEST_SUITE_P(Precisions, DefaultModelTest,
                         ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8),
                         [](const ::testing::TestParamInfo<Precision>& precision) {
                           return std::string(PrecisionName(precision.param));
                         });

std::vector<TokenIds> GoldenIds() {
  std::vector<TokenIds> texts;
  for (const Json& text : Golden()["texts"]) texts.push_back(IdsOf(text["ids"]));
  return texts;
}

TEST_P(DefaultModelTest, IsTheModelTheGoldenFileWasMadeWith) {
  const auto weights =
      ReadFile(engine().folder().transformer_path + "/model.safetensors", int64_t{1} << 30);
  ASSERT_THAT(weights, IsOk());
  EXPECT_EQ(Sha256Hex(*weights), Golden()["weights_sha256"].get<std::string>());
  EXPECT_EQ(engine().folder().max_tokens, Golden()["max_tokens"].get<int64_t>());
}

TEST_P(DefaultModelTest, TokenIdsAreTheReference) {
  TokenizeOptions options;
  options.max_tokens = Golden()["max_tokens"].get<int64_t>();
  for (const Json& text : Golden()["texts"]) {
    const auto encoding = engine().tokenizer().Encode(text["text"].get<std::string>(), options);
    ASSERT_THAT(encoding, IsOk()) << text["text"];
    EXPECT_EQ(encoding->ids, IdsOf(text["ids"])) << text["text"];
  }
}

TEST_P(DefaultModelTest, VectorsAreTheReference) {
  const std::vector<TokenIds> texts = GoldenIds();
  const std::vector<Vector> vectors = EncodeInBatches(texts, 32);
  double worst_cosine = 1;
  Difference worst;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Vector expected = FloatsOf(Golden()["texts"][i]["vector"]);
    const Difference difference = Compare(expected, vectors[i]);
    const double cosine = Cosine(expected, vectors[i]);
    EXPECT_GE(cosine, tolerances().min_cosine) << "text " << i;
    EXPECT_LE(difference.max_abs, tolerances().vector) << "text " << i << ": " << difference;
    worst_cosine = std::min(worst_cosine, cosine);
    if (difference.max_abs > worst.max_abs) worst = difference;
  }
  std::cout << "worst 1 - cosine " << 1 - worst_cosine << "; " << worst << "\n";
}

TEST_P(DefaultModelTest, AttentionIsTheReference) {
  for (const Json& map : Golden()["attention"]) {
    const TokenIds ids = IdsOf(Golden()["texts"][map["text"].get<size_t>()]["ids"]);
    const auto seq = static_cast<int64_t>(ids.size());
    const std::vector<int64_t> layers = NumbersOf(map["layers"]);
    const std::vector<int64_t> heads = NumbersOf(map["heads"]);
    AttentionCapture capture(layers, heads, seq);
    Hidden(ids, &capture);
    ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string bytes, capture.TakeBytes());
    const auto cells = static_cast<int64_t>(layers.size() * heads.size());
    Matrix captured(cells * seq, seq);
    ASSERT_EQ(bytes.size(), captured.span().size() * sizeof(float));
    std::memcpy(captured.data(), bytes.data(), bytes.size());

    Vector actual;
    for (int64_t cell = 0; cell < cells; ++cell) {
      for (const int64_t row : NumbersOf(map["rows"])) {
        const absl::Span<const float> weights = captured.row(cell * seq + row);
        actual.insert(actual.end(), weights.begin(), weights.end());
      }
    }
    const Difference difference = Compare(FloatsOf(map["weights"]), actual);
    EXPECT_LE(difference.max_abs, tolerances().weight)
        << "text " << map["text"] << ": " << difference;
    std::cout << "attention of text " << map["text"] << ": " << difference << "\n";
  }
}

// The golden maps tell a row from a column: with the two exchanged each would be far off.
TEST_P(DefaultModelTest, ExchangedRowsAndColumnsWouldBeSeen) {
  const Json& map = Golden()["attention"][0];
  const Vector weights = FloatsOf(map["weights"]);
  const size_t seq = map["rows"].size();
  for (size_t cell = 0; cell < weights.size(); cell += seq * seq) {
    double asymmetry = 0;
    for (size_t i = 0; i < seq; ++i) {
      for (size_t j = 0; j < seq; ++j) {
        asymmetry = std::max(
            asymmetry, std::abs(double{weights[cell + i * seq + j]} - weights[cell + j * seq + i]));
      }
    }
    EXPECT_GT(asymmetry, 0.1) << "cell " << cell / (seq * seq);
  }
}

// Keeps the first token's hidden state after every layer.
class FirstTokenTap final : public LayerTap {
 public:
  void OnHidden(int64_t, ConstMatrixView hidden) override {
    states.insert(states.end(), hidden.row(0).begin(), hidden.row(0).end());
  }
  Vector states;
};

TEST_P(DefaultModelTest, HiddenStatesAreTheReferenceLayerByLayer) {
  const Json& golden = Golden()["first_token_by_layer"];
  FirstTokenTap tap;
  Hidden(IdsOf(Golden()["texts"][golden["text"].get<size_t>()]["ids"]), &tap);
  const Difference difference = Compare(FloatsOf(golden["hidden"]), tap.states);
  EXPECT_LE(difference.max_abs, tolerances().hidden) << difference;
  std::cout << "hidden states: " << difference << "\n";
}

// C31: 100 texts, the golden ones and beginnings of them.
std::vector<TokenIds> HundredTexts() {
  std::vector<TokenIds> texts = GoldenIds();
  for (size_t i = 0; texts.size() < 100; ++i) {
    const TokenIds& whole = texts[i + 20];
    texts.emplace_back(whole.begin(), whole.begin() + static_cast<int64_t>(1 + whole.size() / 2));
  }
  return texts;
}

TEST_P(DefaultModelTest, VectorsAreTheSameBitsInAnyBatch) {
  const std::vector<TokenIds> texts = HundredTexts();
  const std::vector<Vector> alone = EncodeInBatches(texts, 1);
  for (const size_t batch_size : {7u, 32u, 64u, 100u}) {
    const std::vector<Vector> batched = EncodeInBatches(texts, batch_size);
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_TRUE(SameBits(alone[i], batched[i])) << "text " << i << ", batch of " << batch_size;
    }
  }
}

TEST_P(DefaultModelTest, VectorsAreTheSameBitsInAnyOrder) {
  const std::vector<TokenIds> texts = HundredTexts();
  const std::vector<Vector> in_order = EncodeInBatches(texts, 32);
  std::mt19937 generator(31);
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (int round = 0; round < 2; ++round) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[generator() % i]);
    std::vector<TokenIds> shuffled;
    for (const size_t i : order) shuffled.push_back(texts[i]);
    const std::vector<Vector> vectors = EncodeInBatches(shuffled, 32);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_TRUE(SameBits(in_order[order[i]], vectors[i])) << "text " << order[i];
    }
  }
}

TEST_P(DefaultModelTest, AShortTextIsNotMovedByALongNeighbour) {
  TokenIds longest;
  while (longest.size() < 512) {
    for (const TokenIds& ids : GoldenIds()) longest.insert(longest.end(), ids.begin(), ids.end());
  }
  longest.resize(512);
  const TokenIds shortest = {101, 7592, 999, 102};
  const std::vector<Vector> beside = Encode({shortest, longest, shortest});
  EXPECT_TRUE(SameBits(beside[0], Encode({shortest})[0]));
  EXPECT_TRUE(SameBits(beside[2], beside[0]));
  EXPECT_TRUE(SameBits(beside[1], Encode({longest})[0]));
}

TEST_P(DefaultModelTest, OneTextFiftyTimesGivesOneVector) {
  const TokenIds ids = GoldenIds()[10];
  const std::vector<Vector> vectors = Encode(std::vector<TokenIds>(50, ids));
  for (const Vector& vector : vectors) EXPECT_TRUE(SameBits(vector, vectors[0]));
  EXPECT_TRUE(SameBits(vectors[0], Encode({ids})[0]));
}

TEST_P(DefaultModelTest, AskingForMapsChangesNoBit) {
  const auto& config = engine().config();
  for (const TokenIds& ids : GoldenIds()) {
    const auto seq = static_cast<int64_t>(ids.size());
    const Vector silent = Hidden(ids);
    ATTUNE_ASSERT_OK_AND_ASSIGN(auto all_layers, ResolveSelection("layers", {}, config.layers));
    ATTUNE_ASSERT_OK_AND_ASSIGN(auto all_heads, ResolveSelection("heads", {}, config.heads));
    AttentionCapture everything(all_layers, all_heads, seq);
    EXPECT_TRUE(SameBits(silent, Hidden(ids, &everything))) << seq << " tokens";
    AttentionCapture one_cell({3}, {7}, seq);
    EXPECT_TRUE(SameBits(silent, Hidden(ids, &one_cell))) << seq << " tokens";

    ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string all, everything.TakeBytes());
    ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string one, one_cell.TakeBytes());
    EXPECT_EQ(all.substr(static_cast<size_t>(3 * config.heads + 7) * one.size(), one.size()), one)
        << seq << " tokens: one cell is not the same cell of the full map";
  }
}

// Blank texts are the special tokens alone, and an ordinary vector.
TEST_P(DefaultModelTest, BlankTextHasAFiniteVectorOfLengthOne) {
  for (const char* text : {"", " \t\r\n ", "\xE2\x80\x8B"}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Encoding encoding, engine().tokenizer().Encode(text, {}));
    EXPECT_THAT(encoding.ids, ElementsAre(101, 102));
    const Vector vector = Encode({encoding.ids})[0];
    EXPECT_TRUE(AllFinite(vector));
    // 384 squares, each rounded: 384 * 2^-24 at most.
    EXPECT_NEAR(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0), 1, 2.3e-5);
  }
}

}  // namespace
}  // namespace attune
