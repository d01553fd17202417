// Linear layers on our own kernels, which finish a result (bias, residual, activation) while it is
// in registers.
#include "engine/ops/native_linear.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/ops/kernels/gemm.h"
#include "engine/ops/op_context_impl.h"
#include "engine/ops/packed_panels.h"

namespace attune::internal {
namespace {

// Rows for which a panel of weights is read once. Their inputs and results stay in the L2 cache.
constexpr int64_t kBlockRows = 128;

constexpr int64_t kCacheLine = 64;
// Rows this far apart, or a multiple of it, compete for the same few lines of the L1 cache.
constexpr int64_t kAliasingBytes = 4096;

using Product = void (*)(const GemmPanel&);

// Dense results [rows, out] of either 4 or 2 bytes.
struct Results {
  std::byte* data;
  int64_t element_bytes;
};

class NativeLinear final : public LinearBackend {
 public:
  NativeLinear(NativeKernel kernel, ConstMatrixView weights, absl::Span<const float> bias,
               Arena& arena)
      : precision_(PrecisionOf(kernel)),
        widens_(kernel == NativeKernel::kWidenedBf16),
        kernel_(GemmOf(kernel)),
        panels_(precision_, weights, bias, arena) {}

  absl::Status Run(OpContext& context, LinearInputView src, MatrixView dst) const override {
    Multiply(context.impl(), src, kernel_.store, ResultsIn(dst));
    return absl::OkStatus();
  }

  absl::Status RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const override {
    Multiply(context.impl(), src, kernel_.add, ResultsIn(dst));
    return absl::OkStatus();
  }

  absl::Status RunActivation(OpContext& context, LinearInputView src, Activation activation,
                             LinearInputView dst) const override {
    if (activation == Activation::kGelu && precision_ != Precision::kInt8) {
      Multiply(context.impl(), src, kernel_.gelu, {dst.data, ElementBytes(precision_)});
      return absl::OkStatus();
    }
    for (int64_t row = 0; row < src.rows; row += kBlockRows) {
      const int64_t end = std::min(row + kBlockRows, src.rows);
      ActivateAndPack(context.impl(), src.Rows(row, end), activation, dst.Rows(row, end));
    }
    return absl::OkStatus();
  }

  std::string kernel_name() const override { return kernel_.name; }
  int64_t weight_bytes() const override { return panels_.bytes(); }

 private:
  static Results ResultsIn(MatrixView dst) {
    return {reinterpret_cast<std::byte*>(dst.data), sizeof(float)};
  }

  void Multiply(OpContext::Impl& context, LinearInputView src, Product product,
                Results results) const;
  void ActivateAndPack(OpContext::Impl& context, LinearInputView src, Activation activation,
                       LinearInputView dst) const;
  void PlaceSrc(OpContext::Impl& context, LinearInputView src, GemmPanel& args) const;
  void PlaceWeights(OpContext::Impl& context, int64_t panel, GemmPanel& args) const;
  void MultiplyPartial(OpContext::Impl& context, Product product, int64_t cols,
                       int64_t element_bytes, GemmPanel args) const;

  const Precision precision_;
  const bool widens_;
  const GemmKernel& kernel_;
  const PackedPanels panels_;
};

// The panels in the outer loop: each is read from the L3 cache or memory once per block of rows and
// from the L2 cache for every further tile.
void NativeLinear::Multiply(OpContext::Impl& context, LinearInputView src, Product product,
                            Results results) const {
  const int64_t row_bytes = panels_.out() * results.element_bytes;
  for (int64_t row = 0; row < src.rows; row += kBlockRows) {
    GemmPanel args = {};
    args.rows = std::min(kBlockRows, src.rows - row);
    args.dst_stride = row_bytes;
    PlaceSrc(context, src.Rows(row, row + args.rows), args);
    for (int64_t panel = 0; panel < panels_.panels(); ++panel) {
      const int64_t col = panel * kPanelCols;
      PlaceWeights(context, panel, args);
      args.dst = results.data + row * row_bytes + col * results.element_bytes;
      if (col + kPanelCols <= panels_.out()) {
        product(args);
      } else {
        MultiplyPartial(context, product, panels_.out() - col, results.element_bytes, args);
      }
    }
  }
}

// What no kernel finishes in registers: int8, whose scale needs the whole row, and the activations
// that few models have.
void NativeLinear::ActivateAndPack(OpContext::Impl& context, LinearInputView src,
                                   Activation activation, LinearInputView dst) const {
  const auto count = static_cast<size_t>(dst.rows * dst.cols);
  float* values =
      precision_ == Precision::kF32 ? dst.floats() : ScratchFloats(context.gemm_dst, count);
  const bool fused = activation == Activation::kGelu;
  const MatrixView view(values, dst.rows, dst.cols);
  Multiply(context, src, fused ? kernel_.gelu : kernel_.store, ResultsIn(view));
  if (!fused) ApplyActivation(activation, {values, count});
  PackLinearInput(view, dst);
}

// Where the rows are, if the kernel can read them there, else copied to scratch: widened, or padded
// with zeros to whole words, or only moved apart.
void NativeLinear::PlaceSrc(OpContext::Impl& context, LinearInputView src, GemmPanel& args) const {
  const int64_t row_bytes = src.cols * ElementBytes(precision_);
  args.src = src.data;
  args.src_stride = row_bytes;
  args.src_ranges = src.ranges;
  if (!widens_ && row_bytes % kWordBytes == 0 && row_bytes % kAliasingBytes != 0) return;

  const int64_t needed = panels_.words() * kWordBytes * (widens_ ? 2 : 1);
  const int64_t stride = (needed / kCacheLine + 2) * kCacheLine;
  std::byte* copy = Scratch(context.gemm_src, static_cast<size_t>(src.rows * stride));
  for (int64_t row = 0; row < src.rows; ++row) {
    std::byte* copied = copy + row * stride;
    std::memset(copied + needed - kWordBytes, 0, kWordBytes);
    if (widens_) {
      WidenBf16Row(src.bf16() + row * src.cols, src.cols, reinterpret_cast<float*>(copied));
    } else {
      std::memcpy(copied, src.data + row * row_bytes, static_cast<size_t>(row_bytes));
    }
  }
  args.src = copy;
  args.src_stride = stride;
}

void NativeLinear::PlaceWeights(OpContext::Impl& context, int64_t panel, GemmPanel& args) const {
  panels_.Describe(panel, args);
  if (!widens_) return;
  float* widened =
      ScratchFloats(context.gemm_weights, static_cast<size_t>(2 * args.words * kPanelCols));
  WidenBf16Panel(args.weights, args.words, widened);
  args.weights = reinterpret_cast<const std::byte*>(widened);
  args.words *= 2;
}

// Kernels write whole panels: a last one with columns to spare goes by way of scratch.
void NativeLinear::MultiplyPartial(OpContext::Impl& context, Product product, int64_t cols,
                                   int64_t element_bytes, GemmPanel args) const {
  std::byte* const dst = args.dst;
  const int64_t dst_stride = args.dst_stride;
  const auto bytes = static_cast<size_t>(cols * element_bytes);
  args.dst_stride = kPanelCols * element_bytes;
  args.dst = Scratch(context.gemm_partial, static_cast<size_t>(args.rows * args.dst_stride));
  for (int64_t row = 0; row < args.rows; ++row) {  // what `add` adds to
    std::memcpy(args.dst + row * args.dst_stride, dst + row * dst_stride, bytes);
  }
  product(args);
  for (int64_t row = 0; row < args.rows; ++row) {
    std::memcpy(dst + row * dst_stride, args.dst + row * args.dst_stride, bytes);
  }
}

}  // namespace

std::unique_ptr<const LinearBackend> MakeNativeLinear(NativeKernel kernel, ConstMatrixView weights,
                                                      absl::Span<const float> bias, Arena& arena) {
  ATTUNE_CHECK(CheckAvailable(kernel).ok());
  return std::make_unique<const NativeLinear>(kernel, weights, bias, arena);
}

absl::StatusOr<std::unique_ptr<const LinearBackend>> MakeNativeLinear(Precision precision,
                                                                      ConstMatrixView weights,
                                                                      absl::Span<const float> bias,
                                                                      Arena& arena) {
  ATTUNE_ASSIGN_OR_RETURN(const NativeKernel kernel, BestNativeKernel(precision));
  return MakeNativeLinear(kernel, weights, bias, arena);
}

}  // namespace attune::internal
