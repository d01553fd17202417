// The encoder's ops at the default model's sizes, one thread. Items are tokens; flops are useful
// multiplications and additions, elements are values read and written once.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "engine/base/arena.h"
#include "engine/ops/activation.h"
#include "engine/ops/attention.h"
#include "engine/ops/denormals.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/linear.h"
#include "engine/ops/linear_input.h"
#include "engine/ops/native_linear.h"
#include "engine/ops/op_context.h"
#include "tests/support/numeric.h"

namespace attune {
namespace {

using testing::RandomMatrix;

benchmark::Counter Rate(int64_t per_iteration) {
  return benchmark::Counter(static_cast<double>(per_iteration),
                            benchmark::Counter::kIsIterationInvariantRate);
}

void BM_Linear(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t in = state.range(1);
  const int64_t out = state.range(2);
  OpContext context;
  const auto linear = Linear::Create(RandomMatrix(out, in, 0.1f, 1).view(),
                                     RandomMatrix(1, out, 0.1f, 2).span(), {});
  Matrix src = RandomMatrix(Linear::PaddedRows(rows), in, 1.0f, 3);
  Matrix dst(Linear::PaddedRows(rows), out);
  for (auto _ : state) {
    const absl::Status status = (*linear)->Run(context, LinearInputView(src.view().Rows(0, rows)),
                                               dst.view().Rows(0, rows));
    if (!status.ok()) state.SkipWithError("oneDNN failed");
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["flops"] = Rate(2 * rows * in * out);
}
BENCHMARK(BM_Linear)
    ->ArgNames({"rows", "in", "out"})
    ->ArgsProduct({{8, 16, 32, 64, 96, 128}, {384}, {384, 1152, 1536}})
    ->ArgsProduct({{8, 16, 32, 64, 96, 128}, {1536}, {384}});

// What the matrix kernels could reach at most: their instruction on registers alone. Twelve
// independent sums hide its latency.
enum class Dot { kFma, kBf16, kU8 };

template <Dot kDot>
[[gnu::target("avx512f")]] void RunDots(int64_t steps) {
  constexpr int kSums = 12;
  __m512 sums[kSums] = {};
  const __m512 zeros = {};
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) {
      if constexpr (kDot == Dot::kFma) {
        asm volatile("vfmadd231ps %1, %1, %0" : "+v"(sums[i]) : "v"(zeros));
      } else if constexpr (kDot == Dot::kBf16) {
        asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sums[i]) : "v"(zeros));
      } else {
        asm volatile("vpdpbusd %1, %1, %0" : "+v"(sums[i]) : "v"(zeros));
      }
    }
  }
}

void BM_Peak(benchmark::State& state, void (*run)(int64_t steps), internal::NativeKernel needs,
             int64_t products) {
  if (const absl::Status status = internal::CheckAvailable(needs); !status.ok()) {
    state.SkipWithError(std::string(status.message()).c_str());
    return;
  }
  constexpr int64_t kSteps = 10000;
  for (auto _ : state) run(kSteps);
  state.counters["flops"] = Rate(kSteps * 12 * 16 * products * 2);
}
BENCHMARK_CAPTURE(BM_Peak, f32, RunDots<Dot::kFma>, internal::NativeKernel::kF32, 1);
BENCHMARK_CAPTURE(BM_Peak, bf16, RunDots<Dot::kBf16>, internal::NativeKernel::kBf16, 2);
BENCHMARK_CAPTURE(BM_Peak, int8, RunDots<Dot::kU8>, internal::NativeKernel::kInt8, 4);

// A layer on one of our own kernels, with random inputs.
struct NativeLayer {
  NativeLayer(internal::NativeKernel kernel, int64_t rows, int64_t in, int64_t out)
      : linear(internal::MakeNativeLinear(kernel, RandomMatrix(out, in, 0.1f, 1).view(),
                                          RandomMatrix(1, out, 0.1f, 2).span(), arena)),
        src(internal::PrecisionOf(kernel), rows, in),
        activated(internal::PrecisionOf(kernel), rows, out),
        dst(rows, out) {
    PackLinearInput(RandomMatrix(rows, in, 1.0f, 3).view(), src.view());
  }

  OpContext context;
  Arena arena{0};
  std::unique_ptr<const internal::LinearBackend> linear;
  LinearInput src;
  LinearInput activated;
  Matrix dst;
};

enum class Finish { kPlain, kAdd, kGelu };

void BM_NativeLinear(benchmark::State& state, internal::NativeKernel kernel, Finish finish) {
  const int64_t rows = state.range(0);
  const int64_t in = state.range(1);
  const int64_t out = state.range(2);
  if (const absl::Status status = internal::CheckAvailable(kernel); !status.ok()) {
    state.SkipWithError(std::string(status.message()).c_str());
    return;
  }
  const ScopedFlushDenormals flush_denormals;
  NativeLayer layer(kernel, rows, in, out);
  const auto run = [&] {
    switch (finish) {
      case Finish::kPlain:
        return layer.linear->Run(layer.context, layer.src.view(), layer.dst.view());
      case Finish::kAdd:
        return layer.linear->RunAdd(layer.context, layer.src.view(), layer.dst.view());
      case Finish::kGelu:
        return layer.linear->RunActivation(layer.context, layer.src.view(), Activation::kGelu,
                                           layer.activated.view());
    }
    return absl::OkStatus();
  };
  for (auto _ : state) {
    if (!run().ok()) state.SkipWithError("failed");
  }
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["flops"] = Rate(2 * rows * in * out);
}

void NativeShapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "in", "out"})
      ->ArgsProduct({{8, 16, 32, 64, 96, 128, 256}, {384}, {384, 1152, 1536}})
      ->ArgsProduct({{8, 16, 32, 64, 96, 128, 256}, {1536}, {384}})
      ->ArgsProduct({{64, 128}, {768}, {3072}})
      ->ArgsProduct({{64, 128}, {3072}, {768}});
}
#define ATTUNE_BENCH_NATIVE(kernel)                                                                \
  BENCHMARK_CAPTURE(BM_NativeLinear, kernel##_plain, internal::NativeKernel::kernel,               \
                    Finish::kPlain)                                                                \
      ->Apply(NativeShapes);                                                                       \
  BENCHMARK_CAPTURE(BM_NativeLinear, kernel##_add, internal::NativeKernel::kernel, Finish::kAdd)   \
      ->Apply(NativeShapes);                                                                       \
  BENCHMARK_CAPTURE(BM_NativeLinear, kernel##_gelu, internal::NativeKernel::kernel, Finish::kGelu) \
      ->Apply(NativeShapes)
ATTUNE_BENCH_NATIVE(kF32);
ATTUNE_BENCH_NATIVE(kBf16);
ATTUNE_BENCH_NATIVE(kWidenedBf16);
ATTUNE_BENCH_NATIVE(kInt8);

void BM_SelfAttention(benchmark::State& state, AttentionProducts products) {
  if (!HasAttentionProducts(products)) return state.SkipWithError("this CPU has none");
  constexpr int64_t kHeads = 12;
  const int64_t seq = state.range(0);
  const int64_t hidden = kHeads * state.range(1);
  OpContext context;
  const Matrix qkv = RandomMatrix(seq, 3 * hidden, 1.0f, 1);
  Matrix dst(seq, hidden);
  const AttentionShape shape = {.heads = kHeads, .window = {}, .range = {}, .products = products};
  for (auto _ : state) SelfAttention(context, qkv.view(), shape, dst.view(), nullptr);
  state.SetItemsProcessed(state.iterations() * seq);
  state.counters["flops"] = Rate(4 * seq * seq * hidden);
}
void AttentionShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"seq", "head_dim"})->ArgsProduct({{8, 16, 24, 40, 64, 128, 256, 512}, {32, 64}});
}
BENCHMARK_CAPTURE(BM_SelfAttention, f32, AttentionProducts::kF32)->Apply(AttentionShapes);
BENCHMARK_CAPTURE(BM_SelfAttention, bf16, AttentionProducts::kBf16)->Apply(AttentionShapes);

// Each token sees `window` others, half of them on either side. Flops are those inside the window.
void BM_WindowedSelfAttention(benchmark::State& state) {
  constexpr int64_t kHeads = 12;
  constexpr int64_t kHidden = kHeads * 64;
  const int64_t seq = state.range(0);
  const int64_t window = state.range(1);
  OpContext context;
  const Matrix qkv = RandomMatrix(seq, 3 * kHidden, 1.0f, 1);
  Matrix dst(seq, kHidden);
  const AttentionShape shape = {kHeads, {window / 2, window / 2}};
  for (auto _ : state) SelfAttention(context, qkv.view(), shape, dst.view(), nullptr);
  state.SetItemsProcessed(state.iterations() * seq);
  state.counters["flops"] = Rate(4 * seq * std::min(seq, window + 1) * kHidden);
}
BENCHMARK(BM_WindowedSelfAttention)
    ->ArgNames({"seq", "window"})
    ->ArgsProduct({{512, 1024, 2048, 4096}, {128, 8192}});

void BM_Gelu(benchmark::State& state) {
  // Applied again and again, values shrink to denormals, as in a pass they never do.
  const ScopedFlushDenormals flush_denormals;
  Matrix values = RandomMatrix(state.range(0), 1536, 3.0f, 1);
  for (auto _ : state) {
    ApplyActivation(Activation::kGelu, values.span());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["elements"] = Rate(state.range(0) * 1536);
}
BENCHMARK(BM_Gelu)->ArgName("rows")->Arg(64);

void BM_LayerNorm(benchmark::State& state) {
  constexpr int64_t kHidden = 384;
  const Matrix gamma = RandomMatrix(1, kHidden, 1.0f, 1);
  const Matrix beta = RandomMatrix(1, kHidden, 1.0f, 2);
  Matrix residual = RandomMatrix(state.range(0), kHidden, 1.0f, 3);
  for (auto _ : state) {
    LayerNorm({gamma.span(), beta.span(), 1e-12f}, residual.view());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["elements"] = Rate(state.range(0) * kHidden);
}
BENCHMARK(BM_LayerNorm)->ArgName("rows")->Arg(64);

}  // namespace
}  // namespace attune
