// Attention maps and head statistics of the default model in f32 against their definitions in
// float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/map_text.h"
#include "tests/golden/default_model.h"
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
using ::attune::testing::NeedsDefaultModel;
using ::attune::testing::NumbersOf;
using ::attune::testing::ReadGoldenFile;

// Of a value, relative to the largest of its row or, for what has no rows, of all heads; absolute
// for what is of order 1 and less. Hidden states of order 1 are off by a few 1e-6 after six layers
// of f32.
constexpr double kTolerance = 1e-5;

// Of a cell of a norm map, relative to itself. A weight is off relatively by what its score is off
// absolutely, and scores in this model lie up to 130 apart (the least weight of the 512 tokens is
// 2e-58), where f32 has steps of 8e-6: a few of those. Between transformers' own weights in f32 and
// in f64 it is 2.4e-5 at 128 tokens.
constexpr double kCellTolerance = 5e-5;

const std::map<std::string, MapMatrix>& Matrices() {
  static const auto* const matrices =
      new std::map<std::string, MapMatrix>{{"RAW_SCORES", MapMatrix::kRawScores},
                                           {"VALUE_NORM", MapMatrix::kValueNorm},
                                           {"ATTN_NORM", MapMatrix::kAttnNorm},
                                           {"RES_NORM", MapMatrix::kResNorm},
                                           {"RES_LN_NORM", MapMatrix::kResLnNorm},
                                           {"ROLLOUT", MapMatrix::kRollout},
                                           {"HIDDEN_SIMILARITY", MapMatrix::kHiddenSimilarity}};
  return *matrices;
}

// The fields of HeadSummary by their names in the golden file and the API.
const std::map<std::string, double HeadSummary::*>& Fields() {
  static const auto* const fields = new std::map<std::string, double HeadSummary::*>{
      {"self_mass", &HeadSummary::self_mass},
      {"previous_mass", &HeadSummary::previous_mass},
      {"next_mass", &HeadSummary::next_mass},
      {"first_mass", &HeadSummary::first_mass},
      {"cls_mass", &HeadSummary::cls_mass},
      {"separator_mass", &HeadSummary::separator_mass},
      {"punctuation_mass", &HeadSummary::punctuation_mass},
      {"separator_to_separator", &HeadSummary::separator_to_separator},
      {"rest_to_separator", &HeadSummary::rest_to_separator},
      {"entropy", &HeadSummary::entropy},
      {"entropy_normalized", &HeadSummary::entropy_normalized},
      {"support", &HeadSummary::support},
      {"first_entropy", &HeadSummary::first_entropy},
      {"distance", &HeadSummary::distance},
      {"offset", &HeadSummary::offset},
      {"confidence", &HeadSummary::confidence},
      {"previous_share", &HeadSummary::previous_share},
      {"next_share", &HeadSummary::next_share},
      {"locality", &HeadSummary::locality},
      {"symmetry", &HeadSummary::symmetry}};
  return *fields;
}

std::string NameOf(HeadLabel label) {
  switch (label) {
    case HeadLabel::kNone:
      return "UNSPECIFIED";
    case HeadLabel::kNext:
      return "NEXT";
    case HeadLabel::kPrevious:
      return "PREVIOUS";
    case HeadLabel::kBroad:
      return "BROAD";
    case HeadLabel::kCls:
      return "CLS";
    case HeadLabel::kSeparator:
      return "SEPARATOR";
    case HeadLabel::kPunctuation:
      return "PUNCTUATION";
  }
  return "";
}

// A text of the golden file as the engine reads it.
struct Text {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
  MapText map;
};

class AttentionMapsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* const engine =
        new absl::StatusOr<std::shared_ptr<const Engine>>(Engine::Load(DefaultModelPath()));
    ASSERT_THAT(*engine, IsOk()) << NeedsDefaultModel();
    session_ = std::make_unique<Session>(**engine, 512);
  }

  static const Json& Texts() {
    static const Json* const golden = new Json(ReadGoldenFile("attention_maps.json"));
    return (*golden)["texts"];
  }

  const Engine& engine() const { return session_->engine(); }

  // Tokenized here, so that which tokens are [SEP] and the like is compared too.
  Text Read(const Json& golden) const {
    const std::vector<int32_t> ids = IdsOf(golden["ids"]);
    if (!golden.contains("text")) {
      const std::vector<bool> none(ids.size(), false);
      MapText map;
      map.seq = map.second_begin = static_cast<int64_t>(ids.size());
      map.special = map.roles.separator = map.roles.punctuation = none;
      return {ids, {}, map};
    }
    TokenizeOptions options;
    options.max_tokens = golden.value("max_tokens", int64_t{0});
    options.offsets = true;
    const auto first = golden["text"].get<std::string>();
    const auto encoding =
        golden.contains("second")
            ? engine().tokenizer().EncodePair(first, golden["second"].get<std::string>(), options)
            : engine().tokenizer().Encode(first, options);
    EXPECT_THAT(encoding, IsOk());
    EXPECT_EQ(encoding->ids, ids);
    return {encoding->ids, encoding->type_ids, MakeMapText(*encoding, engine().tokenizer(), {})};
  }

  // Every layer and head.
  MapQuery Query(MapMatrix matrix) const {
    MapQuery query;
    for (int64_t i = 0; i < engine().config().layers; ++i) query.layers.push_back(i);
    for (int64_t i = 0; i < engine().config().heads; ++i) query.heads.push_back(i);
    query.matrix = matrix;
    return query;
  }

  MapResult Map(const Text& text, MapQuery query) {
    EXPECT_THAT(ValidateMapQuery(query), IsOk());
    const auto plan = MakeMapPlan(std::move(query), text.map);
    EXPECT_THAT(plan, IsOk());
    AttentionMapper mapper(engine().config(), *plan, nullptr);
    Batch batch;
    batch.Append(text.ids, text.types);
    EXPECT_THAT(session_->Forward(batch, {.tap = &mapper}), IsOk());
    auto result = mapper.Finish();
    EXPECT_THAT(result, IsOk());
    return *std::move(result);
  }

  // Layer by layer, head by head.
  std::vector<LayerHeadSummary> Statistics(const Text& text) {
    MapQuery query = Query(MapMatrix::kNone);
    query.statistics = true;
    return Map(text, query).statistics;
  }

  // The rows that the golden map `golden` of `text` has.
  std::vector<float> Rows(const Text& text, const Json& golden) {
    MapQuery query = Query(Matrices().at(golden["matrix"]));
    query.layers = NumbersOf(golden["layers"]);
    if (golden.contains("heads")) {
      query.heads = NumbersOf(golden["heads"]);
      query.every_head = false;
    }
    const std::string bytes = Map(text, query).maps.data;
    const auto seq = static_cast<size_t>(text.map.seq);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    std::vector<float> rows;
    for (size_t map = 0; map < values.size(); map += seq * seq) {
      for (const int64_t row : NumbersOf(golden["rows"])) {
        const auto begin =
            values.begin() + static_cast<int64_t>(map + static_cast<size_t>(row) * seq);
        rows.insert(rows.end(), begin, begin + text.map.seq);
      }
    }
    return rows;
  }

 private:
  std::unique_ptr<Session> session_;
};

// How far rows of `seq` values are off at most.
struct RowErrors {
  double of_row = 0;   // relative to the row's largest value
  double of_cell = 0;  // relative to the value itself
};
RowErrors CompareRows(absl::Span<const float> expected, absl::Span<const float> actual,
                      size_t seq) {
  RowErrors worst;
  for (size_t row = 0; row < expected.size(); row += seq) {
    double largest = 0;
    for (size_t j = row; j < row + seq; ++j)
      largest = std::max(largest, std::abs(double{expected[j]}));
    for (size_t j = row; j < row + seq; ++j) {
      const double error = std::abs(double{expected[j]} - double{actual[j]});
      if (error == 0) continue;
      worst.of_row = std::max(worst.of_row, error / largest);
      worst.of_cell = std::max(worst.of_cell, error / std::abs(double{expected[j]}));
    }
  }
  return worst;
}

bool IsNormMap(const std::string& matrix) { return matrix.ends_with("_NORM"); }

TEST_F(AttentionMapsTest, MapsAreTheirDefinitions) {
  std::map<std::string, RowErrors> worst;
  for (const Json& golden : Texts()) {
    const Text text = Read(golden);
    for (const Json& map : golden["maps"]) {
      const auto matrix = map["matrix"].get<std::string>();
      const std::vector<float> expected = FloatsOf(map["values"]);
      const std::vector<float> actual = Rows(text, map);
      ASSERT_EQ(actual.size(), expected.size()) << matrix;
      const RowErrors errors = CompareRows(expected, actual, text.ids.size());
      EXPECT_LE(errors.of_row, kTolerance) << matrix << " of " << text.ids.size() << " tokens";
      if (IsNormMap(matrix)) {
        EXPECT_LE(errors.of_cell, kCellTolerance)
            << matrix << " of " << text.ids.size() << " tokens";
      }
      worst[matrix].of_row = std::max(worst[matrix].of_row, errors.of_row);
      worst[matrix].of_cell = std::max(worst[matrix].of_cell, errors.of_cell);
    }
  }
  for (const auto& [matrix, errors] : worst) {
    std::cout << matrix << ": off by " << errors.of_row << " of the row's largest value";
    if (IsNormMap(matrix)) std::cout << ", by " << errors.of_cell << " of the value";
    std::cout << "\n";
  }
}

TEST_F(AttentionMapsTest, MixingRatiosAreTheirDefinitions) {
  for (const Json& golden : Texts()) {
    const Text text = Read(golden);
    const auto compare = [&](MapMatrix matrix, const Json& expected) {
      MapQuery query = Query(matrix);
      query.mixing_ratio = true;
      const Difference difference = Compare(FloatsOf(expected), Map(text, query).mixing_ratio);
      EXPECT_LE(difference.max_abs, kTolerance) << text.ids.size() << " tokens: " << difference;
    };
    compare(MapMatrix::kNone, golden["weight_mixing"]);
    for (const Json& map : golden["maps"]) {
      if (map.contains("mixing_ratio")) compare(Matrices().at(map["matrix"]), map["mixing_ratio"]);
    }
  }
}

TEST_F(AttentionMapsTest, StatisticsOfEveryHeadAreTheirFormulas) {
  for (const Json& golden : Texts()) {
    const Text text = Read(golden);
    const std::vector<LayerHeadSummary> heads = Statistics(text);
    ASSERT_EQ(golden["statistics"].size(), Fields().size());
    for (const auto& [name, field] : Fields()) {
      const std::vector<float> expected = FloatsOf(golden["statistics"][name]);
      std::vector<float> actual;
      double largest = 1;
      for (const LayerHeadSummary& head : heads) {
        actual.push_back(static_cast<float>(head.summary.*field));
        largest = std::max(largest, std::abs(head.summary.*field));
      }
      const Difference difference = Compare(expected, actual);
      EXPECT_LE(difference.max_abs, kTolerance * largest)
          << name << " of " << text.ids.size() << " tokens: " << difference;
    }
  }
}

TEST_F(AttentionMapsTest, HeadsHaveTheLabelsOfThePublishedThresholds) {
  for (const Json& golden : Texts()) {
    const Text text = Read(golden);
    std::vector<std::string> labels;
    for (const LayerHeadSummary& head : Statistics(text))
      labels.push_back(NameOf(head.summary.label()));
    EXPECT_EQ(labels, golden["labels"].get<std::vector<std::string>>()) << text.ids.size();
  }
}

}  // namespace
}  // namespace attune
