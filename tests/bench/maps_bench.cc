// What a map of one text costs, all layers of the default model's sizes, one thread: the pass alone
// is /none. Items are tokens.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "engine/base/check.h"
#include "engine/interpret/attention_flow.h"
#include "engine/interpret/attention_mapper.h"
#include "engine/model/encoder.h"
#include "tests/support/random_weights.h"

namespace attune {
namespace {

const Encoder& MiniLm() {
  static const std::unique_ptr<const Encoder> encoder =
      *Encoder::Create(testing::MiniLmConfig(), testing::RandomWeights(testing::MiniLmConfig()));
  return *encoder;
}

MapQuery QueryOf(MapMatrix matrix) {
  const ModelConfig& config = MiniLm().config();
  MapQuery query;
  query.matrix = matrix;
  for (int64_t layer = 0; layer < config.layers; ++layer) query.layers.push_back(layer);
  for (int64_t head = 0; head < config.heads; ++head) query.heads.push_back(head);
  return query;
}

MapText TextOf(int64_t seq) {
  const std::vector<bool> none(static_cast<size_t>(seq));
  MapText text;
  text.seq = seq;
  text.special.resize(static_cast<size_t>(seq));
  text.roles = {.first_is_special = false, .separator = none, .punctuation = none};
  return text;
}

void Run(benchmark::State& state, MapQuery query) {
  const int64_t seq = state.range(0);
  const MapPlan plan = *MakeMapPlan(std::move(query), TextOf(seq));
  OpContext context;
  EncoderWorkspace workspace(MiniLm().config());
  Batch batch;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < seq; ++i) ids.push_back(static_cast<int32_t>(1000 + i * 7));
  batch.Append(ids, {});
  for (auto _ : state) {
    AttentionMapper mapper(MiniLm().config(), plan, nullptr);
    const auto hidden = MiniLm().Forward(context, batch, workspace, {.tap = &mapper});
    ATTUNE_CHECK(hidden.ok() && mapper.Finish().ok());
  }
  state.SetItemsProcessed(state.iterations() * seq);
}

void BM_Map(benchmark::State& state, MapMatrix matrix) { Run(state, QueryOf(matrix)); }

void BM_Statistics(benchmark::State& state) {
  MapQuery query = QueryOf(MapMatrix::kNone);
  query.statistics = true;
  Run(state, std::move(query));
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("tokens")->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_Map, none, MapMatrix::kNone)->Apply(Sizes);
BENCHMARK(BM_Statistics)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, weights, MapMatrix::kWeights)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, raw_scores, MapMatrix::kRawScores)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, value_norm, MapMatrix::kValueNorm)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, attn_norm, MapMatrix::kAttnNorm)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, res_ln_norm, MapMatrix::kResLnNorm)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, rollout, MapMatrix::kRollout)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Map, flow, MapMatrix::kFlow)
    ->ArgName("tokens")
    ->Arg(AttentionFlow::kMaxTokens)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Map, value_zeroing, MapMatrix::kValueZeroing)
    ->ArgName("tokens")
    ->Arg(32)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Map, hidden_similarity, MapMatrix::kHiddenSimilarity)->Apply(Sizes);

}  // namespace
}  // namespace attune
