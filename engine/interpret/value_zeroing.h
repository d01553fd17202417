// Value zeroing (Mohebbi, Zuidema, Chrupala, Alishahi: "Quantifying Context Mixing in
// Transformers", EACL 2023).
#ifndef ATTUNE_ENGINE_INTERPRET_VALUE_ZEROING_H_
#define ATTUNE_ENGINE_INTERPRET_VALUE_ZEROING_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/model/layer_tap.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Costs about a layer of the forward pass for each token.
inline constexpr int64_t kMaxValueZeroingTokens = 256;

// [seq, seq]: how far token i's (row) output of the layer turns, 1 - cosine, when the value of
// token j (column) is zero in every head; each row divided by its sum, and 0 where nothing turns
// it. weights[heads] are the layer's matrices [seq, seq]. Queries and keys stay, so weights do too.
// The rest of the layer is the encoder's own, in its precision. `should_stop` is asked once a row,
// and may be null: true ends with kCancelled. kInternal if oneDNN fails.
absl::StatusOr<Matrix> ValueZeroing(const AttentionStep& step, absl::Span<const Matrix> weights,
                                    const std::function<bool()>& should_stop);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_VALUE_ZEROING_H_
