#include "engine/ops/packed_panels.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/ops/linear_input.h"
#include "engine/ops/quantize_weights.h"
#include "engine/tensor/half.h"

namespace attune::internal {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// dst[panel][word][kPanelCols][values of a word] = weight(output, input), zero past either end.
template <typename Value, typename Weight>
void Interleave(const PackedPanels& shape, Weight weight, Value* dst) {
  constexpr auto kWordValues = static_cast<int64_t>(kWordBytes / sizeof(Value));
  for (int64_t first_out = 0; first_out < shape.panels() * kPanelCols; first_out += kPanelCols) {
    for (int64_t first_in = 0; first_in < shape.words() * kWordValues; first_in += kWordValues) {
      for (int64_t out = first_out; out < first_out + kPanelCols; ++out) {
        for (int64_t in = first_in; in < first_in + kWordValues; ++in) {
          *dst++ = out < shape.out() && in < shape.in() ? weight(out, in) : Value{0};
        }
      }
    }
  }
}

}  // namespace

PackedPanels::PackedPanels(Precision precision, ConstMatrixView weights,
                           absl::Span<const float> bias, Arena& arena)
    : in_(weights.cols),
      out_(weights.rows),
      words_(CeilDiv(in_ * ElementBytes(precision), kWordBytes)),
      panels_(CeilDiv(out_, kPanelCols)),
      weight_bytes_(static_cast<size_t>(panels_ * words_ * kPanelCols * kWordBytes)),
      weights_(arena.Allocate(weight_bytes_)),
      bias_(static_cast<size_t>(panels_ * kPanelCols) * sizeof(float)) {
  ATTUNE_CHECK(static_cast<int64_t>(bias.size()) == out_);
  std::copy(bias.begin(), bias.end(), bias_.floats());
  PackValues(precision, weights);
}

void PackedPanels::PackValues(Precision precision, ConstMatrixView weights) {
  switch (precision) {
    case Precision::kF32:
      return Interleave(
          *this, [&](int64_t out, int64_t in) { return weights.at(out, in); },
          reinterpret_cast<float*>(weights_.get()));
    case Precision::kBf16:
      return Interleave(
          *this, [&](int64_t out, int64_t in) { return F32ToBf16(weights.at(out, in)); },
          reinterpret_cast<uint16_t*>(weights_.get()));
    case Precision::kInt8:
      return PackInt8(weights);
  }
}

void PackedPanels::PackInt8(ConstMatrixView weights) {
  const QuantizedWeights quantized = QuantizeWeights(weights);
  Interleave(
      *this,
      [&](int64_t out, int64_t in) {
        return quantized.values[static_cast<size_t>(out * in_ + in)];
      },
      reinterpret_cast<int8_t*>(weights_.get()));
  scales_ = AlignedBuffer(bias_.size_bytes());
  column_sums_ = AlignedBuffer(bias_.size_bytes());
  std::copy(quantized.scales.begin(), quantized.scales.end(), scales_.floats());
  std::copy(quantized.column_sums.begin(), quantized.column_sums.end(), column_sums_.floats());
}

void PackedPanels::Describe(int64_t index, GemmPanel& args) const {
  const int64_t col = index * kPanelCols;
  const int64_t panel_bytes = words_ * kPanelCols * kWordBytes;
  args.words = words_;
  args.weights = weights_.get() + index * panel_bytes;
  args.ahead = weights_.get() + (index + 1) % panels_ * panel_bytes;
  args.ahead_bytes = panel_bytes;
  args.bias = bias_.floats() + col;
  if (scales_.size_bytes() == 0) return;
  args.weight_scales = scales_.floats() + col;
  args.column_sums = column_sums_.floats() + col;
}

int64_t PackedPanels::bytes() const {
  return static_cast<int64_t>(weight_bytes_ + bias_.size_bytes() + scales_.size_bytes() +
                              column_sums_.size_bytes());
}

}  // namespace attune::internal
