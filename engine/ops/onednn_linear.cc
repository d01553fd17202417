// Linear layers on oneDNN's matmul. What oneDNN can fuse without leaving its fast kernels (bias and
// sum in f32) it does; the rest are passes of our own over rows that are still in the cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/ops/kernels/kernels.h"
#include "engine/ops/linear.h"
#include "engine/ops/linear_backend.h"
#include "engine/ops/op_context_impl.h"
#include "engine/ops/packed_matmul.h"
#include "engine/ops/precision_probe.h"
#include "engine/ops/quantize_weights.h"

namespace attune::internal {
namespace {

using dnnl::memory;
using DataType = memory::data_type;

// Rows between a matmul and the pass over its result: the result stays in the L2 cache.
constexpr int64_t kPassRows = 64;

absl::Status FromDnnl(const char* action, const dnnl::error& error) {
  return absl::InternalError(absl::StrCat("oneDNN could not ", action, ": ", error.what(),
                                          " (status ", static_cast<int>(error.status), ")"));
}

template <typename Body>
absl::Status CatchDnnl(Body body) {
  try {
    body();
  } catch (const dnnl::error& error) {
    return FromDnnl("run a matmul", error);
  }
  return absl::OkStatus();
}

// [out, in] row-major is [in, out] with the strides exchanged: the transpose costs nothing.
memory TransposedView(ConstMatrixView weights) {
  const memory::desc desc({weights.cols, weights.rows}, DataType::f32,
                          memory::dims{1, weights.stride});
  return {desc, CpuEngine(), const_cast<float*>(weights.data)};
}

memory TransposedView(QuantizedWeights& weights) {
  const memory::desc desc({weights.in, weights.out}, DataType::s8, memory::dims{1, weights.in});
  return {desc, CpuEngine(), weights.values.data()};
}

// f32 and bf16: products with an f32 result, bias and sum inside oneDNN.
class FloatLinear final : public LinearBackend {
 public:
  FloatLinear(Precision precision, ConstMatrixView weights, absl::Span<const float> bias,
              Arena& arena)
      : matmul_({TypeOf(precision), TypeOf(precision), DataType::f32}, TransposedView(weights),
                bias, /*adds=*/true, arena) {}

  absl::Status Run(OpContext& context, LinearInputView src, MatrixView dst) const override {
    return CatchDnnl([&] { matmul_.Run(context.impl(), src.rows, src.data, dst.data); });
  }

  absl::Status RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const override {
    return CatchDnnl([&] { matmul_.RunAdd(context.impl(), src.rows, src.data, dst.data); });
  }

  absl::Status RunActivation(OpContext& context, LinearInputView src, Activation activation,
                             LinearInputView dst) const override {
    return CatchDnnl([&] {
      for (int64_t row = 0; row < src.rows; row += kPassRows) {
        const int64_t end = std::min(row + kPassRows, src.rows);
        ActivateRows(context.impl(), src.Rows(row, end), activation, dst.Rows(row, end));
      }
    });
  }

  std::string kernel_name() const override { return matmul_.kernel_name(); }
  int64_t weight_bytes() const override { return matmul_.weight_bytes(); }

 private:
  static DataType TypeOf(Precision precision) {
    return precision == Precision::kF32 ? DataType::f32 : DataType::bf16;
  }

  void ActivateRows(OpContext::Impl& context, LinearInputView src, Activation activation,
                    LinearInputView dst) const {
    const bool in_place = dst.precision == Precision::kF32;
    const int64_t padded_values = Linear::PaddedRows(dst.rows) * dst.cols;
    float* result = in_place
                        ? dst.floats()
                        : ScratchFloats(context.linear_result, static_cast<size_t>(padded_values));
    matmul_.Run(context, src.rows, src.data, result);
    ApplyActivation(activation, {result, static_cast<size_t>(dst.rows * dst.cols)});
    PackLinearInput({result, dst.rows, dst.cols}, dst);
  }

  const PackedMatmul matmul_;
};

// int8: exact sums of u8 x s8 products, then steps, least values and bias in one pass.
class Int8Linear final : public LinearBackend {
 public:
  Int8Linear(QuantizedWeights weights, absl::Span<const float> bias, Arena& arena)
      : matmul_({DataType::u8, DataType::s8, DataType::s32}, TransposedView(weights), {},
                /*adds=*/false, arena),
        scales_(std::move(weights.scales)),
        column_sums_(std::move(weights.column_sums)),
        bias_(bias.begin(), bias.end()) {}

  absl::Status Run(OpContext& context, LinearInputView src, MatrixView dst) const override {
    return ForEachRow(context, src, [&](int64_t row, const DequantizeArgs& args) {
      BestKernels().dequantize(args, dst.row(row).data());
    });
  }

  absl::Status RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const override {
    return ForEachRow(context, src, [&](int64_t row, const DequantizeArgs& args) {
      BestKernels().dequantize_add(args, dst.row(row).data());
    });
  }

  absl::Status RunActivation(OpContext& context, LinearInputView src, Activation activation,
                             LinearInputView dst) const override {
    float* values = ScratchFloats(context.impl().linear_row, args_.n);
    return ForEachRow(context, src, [&](int64_t row, const DequantizeArgs& args) {
      BestKernels().dequantize(args, values);
      ApplyActivation(activation, {values, args.n});
      PackLinearInput({values, 1, dst.cols}, dst.Rows(row, row + 1));
    });
  }

  std::string kernel_name() const override { return matmul_.kernel_name(); }
  int64_t weight_bytes() const override {
    return matmul_.weight_bytes() + static_cast<int64_t>(args_.n * 3 * sizeof(float));
  }

 private:
  // Calls body(row, args) with the row's sums.
  template <typename Body>
  absl::Status ForEachRow(OpContext& context, LinearInputView src, Body body) const {
    return CatchDnnl([&] {
      auto* sums = reinterpret_cast<int32_t*>(
          Scratch(context.impl().linear_result, args_.n * kPassRows * sizeof(int32_t)));
      for (int64_t begin = 0; begin < src.rows; begin += kPassRows) {
        const int64_t end = std::min(begin + kPassRows, src.rows);
        matmul_.Run(context.impl(), end - begin, src.Rows(begin, end).data, sums);
        for (int64_t row = begin; row < end; ++row) {
          DequantizeArgs args = args_;
          args.sums = sums + static_cast<size_t>(row - begin) * args.n;
          args.range = src.ranges[row];
          body(row, args);
        }
      }
    });
  }

  const PackedMatmul matmul_;
  const std::vector<float> scales_;
  const std::vector<float> column_sums_;
  const std::vector<float> bias_;
  // What is the same for every row.
  const DequantizeArgs args_ = {.scales = scales_.data(),
                                .column_sums = column_sums_.data(),
                                .bias = bias_.data(),
                                .n = bias_.size()};
};

}  // namespace

absl::StatusOr<std::unique_ptr<const LinearBackend>> MakeOneDnnLinear(Precision precision,
                                                                      ConstMatrixView weights,
                                                                      absl::Span<const float> bias,
                                                                      Arena& arena) {
  ATTUNE_RETURN_IF_ERROR(CheckPrecisionSupported(precision));
  try {
    if (precision == Precision::kInt8) {
      return std::make_unique<const Int8Linear>(QuantizeWeights(weights), bias, arena);
    }
    return std::make_unique<const FloatLinear>(precision, weights, bias, arena);
  } catch (const dnnl::error& error) {
    return FromDnnl("create a matmul", error);
  }
}

}  // namespace attune::internal
