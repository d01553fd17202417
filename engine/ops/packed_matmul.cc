#include "engine/ops/packed_matmul.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "absl/strings/match.h"
#include "engine/ops/linear.h"

namespace attune::internal {
namespace {

using dnnl::memory;

// oneDNN's blocked-GEMM kernels need the row count at creation; with it left open oneDNN falls back
// to a slower kernel. So there is one primitive for each of 8, 16, ..., 128 rows. More rows per
// call are slower, since the output leaves the L2 cache.
constexpr int64_t kRowGroup = Linear::kRowGroup;
constexpr int64_t kMaxRows = 128;

// The older GEMM kernels take rows in groups of six and sum a smaller last group in another order.
// With them every call has this row count, in which no group is smaller; a shorter tail is computed
// in a padded copy.
constexpr int64_t kOnlyRows = 24;

memory::desc DenseDesc(int64_t rows, int64_t cols, memory::data_type type) {
  return {{rows, cols}, type, memory::format_tag::ab};
}

// A memory object for data that oneDNN only reads takes a mutable pointer all the same.
memory Borrow(const memory::desc& desc, const void* data) {
  return {desc, CpuEngine(), const_cast<void*>(data)};
}

bool IsBrgemm(const dnnl::matmul::primitive_desc& desc) {
  return absl::StrContains(desc.impl_info_str(), "brg");
}

int64_t Dim(const memory& matrix, size_t dim) {
#if DNNL_VERSION_MAJOR >= 3
  return matrix.get_desc().get_dims()[dim];
#else
  return matrix.get_desc().dims()[dim];
#endif
}

int64_t RowBytes(const memory::desc& desc, int64_t rows) {
  return static_cast<int64_t>(desc.get_size()) / rows;
}

}  // namespace

PackedMatmul::PackedMatmul(const MatmulTypes& types, const memory& weights,
                           absl::Span<const float> bias, bool adds, Arena& arena)
    : types_(types), in_(Dim(weights, 0)), out_(Dim(weights, 1)) {
  UseOneOpenMpThread();
  if (!bias.empty()) {
    bias_ = memory(DenseDesc(1, out_, memory::data_type::f32), CpuEngine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  }

  // One layout for all row counts: with one thread oneDNN's choice does not depend on them.
  const memory::desc any({in_, out_}, types_.weights, memory::format_tag::any);
  const dnnl::matmul::primitive_desc widest = Describe(kMaxRows, any, false);
  brgemm_ = IsBrgemm(widest);
  weight_block_ = arena.Allocate(widest.weights_desc().get_size());
  weights_ = memory(widest.weights_desc(), CpuEngine(), weight_block_.get());
  dnnl::stream stream(CpuEngine());
  memory source = weights;
  dnnl::reorder(source, weights_).execute(stream, source, weights_);
  stream.wait();

  plain_ = MakeAll(false);
  if (adds) adding_ = MakeAll(true);
}

dnnl::matmul::primitive_desc PackedMatmul::Describe(int64_t rows, const memory::desc& weights_desc,
                                                    bool add) const {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // primitives are shared by threads
  if (add) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0f);
    attr.set_post_ops(post_ops);
  }
  const memory::desc bias = DenseDesc(1, out_, memory::data_type::f32);
  return MatmulDesc(DenseDesc(rows, in_, types_.src), weights_desc, bias_ ? &bias : nullptr,
                    DenseDesc(rows, out_, types_.dst), attr);
}

PackedMatmul::FixedRows PackedMatmul::Make(int64_t rows, bool add) {
  const dnnl::matmul::primitive_desc desc = Describe(rows, weights_.get_desc(), add);
  brgemm_ = brgemm_ && IsBrgemm(desc);
  kernel_name_ = desc.impl_info_str();
  return {rows, dnnl::matmul(desc), desc.src_desc(), desc.dst_desc(), desc.scratchpad_desc()};
}

PackedMatmul::RowCounts PackedMatmul::MakeAll(bool add) {
  RowCounts matmuls;
  for (int64_t rows = kRowGroup; brgemm_ && rows <= kMaxRows; rows += kRowGroup) {
    matmuls.push_back(Make(rows, add));
  }
  if (brgemm_) return matmuls;
  matmuls.clear();
  matmuls.push_back(Make(kOnlyRows, add));
  return matmuls;
}

void PackedMatmul::Run(OpContext::Impl& context, int64_t rows, const void* src, void* dst) const {
  ForEachBlock(context, plain_, rows, src, dst);
}

void PackedMatmul::RunAdd(OpContext::Impl& context, int64_t rows, const void* src,
                          void* dst) const {
  ForEachBlock(context, adding_, rows, src, dst);
}

void PackedMatmul::ForEachBlock(OpContext::Impl& context, const RowCounts& matmuls, int64_t rows,
                                const void* src, void* dst) const {
  const FixedRows& widest = matmuls.back();
  const auto* src_bytes = static_cast<const std::byte*>(src);
  auto* dst_bytes = static_cast<std::byte*>(dst);
  for (int64_t row = 0; row < rows; row += widest.rows) {
    const int64_t block = std::min(rows - row, widest.rows);
    const std::byte* block_src = src_bytes + row * RowBytes(widest.src_desc, widest.rows);
    std::byte* block_dst = dst_bytes + row * RowBytes(widest.dst_desc, widest.rows);
    if (matmuls.size() > 1) {
      Execute(context, matmuls[static_cast<size_t>((block - 1) / kRowGroup)], block_src, block_dst);
    } else if (block == widest.rows) {
      Execute(context, widest, block_src, block_dst);
    } else {
      ExecutePadded(context, widest, block, block_src, block_dst);
    }
  }
  context.stream.wait();
}

void PackedMatmul::Execute(OpContext::Impl& context, const FixedRows& matmul, const void* src,
                           void* dst) const {
  std::byte* scratch = Scratch(context.matmul_scratch, matmul.scratchpad_desc.get_size());
  std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, Borrow(matmul.src_desc, src)},
      {DNNL_ARG_WEIGHTS, weights_},
      {DNNL_ARG_DST, Borrow(matmul.dst_desc, dst)},
      {DNNL_ARG_SCRATCHPAD, memory(matmul.scratchpad_desc, CpuEngine(), scratch)}};
  if (bias_) args.emplace(DNNL_ARG_BIAS, bias_);
  matmul.primitive.execute(context.stream, args);
}

// `rows` rows with a matmul of more.
void PackedMatmul::ExecutePadded(OpContext::Impl& context, const FixedRows& matmul, int64_t rows,
                                 const void* src, void* dst) const {
  const size_t src_bytes = matmul.src_desc.get_size();
  const auto used_src = static_cast<size_t>(rows * RowBytes(matmul.src_desc, matmul.rows));
  const auto used_dst = static_cast<size_t>(rows * RowBytes(matmul.dst_desc, matmul.rows));
  std::byte* padded_src = Scratch(context.staging, src_bytes + matmul.dst_desc.get_size());
  std::byte* padded_dst = padded_src + src_bytes;
  std::memcpy(padded_src, src, used_src);
  std::memset(padded_src + used_src, 0, src_bytes - used_src);
  std::memset(padded_dst, 0, matmul.dst_desc.get_size());
  std::memcpy(padded_dst, dst, used_dst);  // what an adding matmul adds to
  Execute(context, matmul, padded_src, padded_dst);
  std::memcpy(dst, padded_dst, used_dst);
}

int64_t PackedMatmul::weight_bytes() const {
  const size_t bias = bias_ ? bias_.get_desc().get_size() : 0;
  return static_cast<int64_t>(weights_.get_desc().get_size() + bias);
}

}  // namespace attune::internal
