// The ops and the encoder written down naively, in double precision: what the fast ones are tested
// against. No vectorisation, no blocking, one formula per function.
#ifndef ATTUNE_TESTS_SUPPORT_REFERENCE_OPS_H_
#define ATTUNE_TESTS_SUPPORT_REFERENCE_OPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "engine/ops/activation.h"
#include "engine/ops/attention.h"
#include "engine/ops/pooling.h"
#include "engine/tensor/matrix.h"
#include "tests/support/numeric.h"

namespace attune::testing {

// src[rows, in] * transpose(weights[out, in]) + bias[out]
DoubleMatrix ReferenceLinear(const DoubleMatrix& src, ConstMatrixView weights,
                             absl::Span<const float> bias);

struct ReferenceAttention {
  DoubleMatrix dst;                   // [seq, hidden]
  std::vector<DoubleMatrix> weights;  // per head [seq, seq]
};
ReferenceAttention ReferenceSelfAttention(const DoubleMatrix& qkv, int64_t heads,
                                          const AttentionWindow& window = {});

DoubleMatrix ReferenceLayerNorm(const DoubleMatrix& src, absl::Span<const float> gamma,
                                absl::Span<const float> beta, double epsilon);

double ReferenceActivation(Activation activation, double x);

std::vector<double> ReferencePool(PoolingMode mode, const DoubleMatrix& tokens);

struct ReferenceEncoding {
  std::vector<DoubleMatrix> hidden;                // layers + 1, as transformers' hidden_states
  std::vector<std::vector<DoubleMatrix>> weights;  // [layer][head], each [seq, seq]
};
// One text. Ids must be valid.
ReferenceEncoding ReferenceEncode(const ModelConfig& config, const ModelWeights& weights,
                                  absl::Span<const int32_t> token_ids,
                                  absl::Span<const int32_t> type_ids,
                                  const AttentionWindow& window = {});

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_REFERENCE_OPS_H_
