// The attention mechanism itself, over vectors the caller supplies: words, speech frames, pixels or
// the nodes of a graph. Written for people who want to see each step, not for speed.
#ifndef ATTUNE_ENGINE_INTERPRET_ATTEND_H_
#define ATTUNE_ENGINE_INTERPRET_ATTEND_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/matrix.h"

namespace attune {

enum class AttendScore {
  kScaledDot,  // q . k / sqrt(head_dim)            (Vaswani et al. 2017, equation 1)
  kDot,        // q . k                             (Luong et al. 2015)
  kAdditive,   // w . tanh(q + k)                   (Bahdanau et al. 2015)
};

enum class AttendNormalizer {
  kSoftmax,  // each row sums to 1 over the keys it may see
  kRelu,     // max(0, score), not renormalised
};

enum class AttendPosition {
  kNone,        // attention sees a bag of vectors
  kSinusoidal,  // PE[p, 2i] = sin(p / 10000^(2i/d)), PE[p, 2i+1] = cos of the same, added to x
};

// Which keys a query may see. Masked weights are exactly 0; a query without any key gets a zero
// row.
struct AttendMask {
  enum class Kind { kFull, kCausal, kWindow, kGraph };
  Kind kind = Kind::kFull;
  // kWindow: query i sees keys i - left .. i + right.
  int64_t left = 0;
  int64_t right = 0;
  // kGraph: query `first` sees key `second`. Directed; self-loops only where listed.
  std::vector<std::pair<int64_t, int64_t>> edges;
};

struct AttendLimits {
  static constexpr int64_t kMaxVectors = 2048;
  static constexpr int64_t kMaxDimension = 4096;
  static constexpr int64_t kMaxHeads = 64;
};

// All matrices are row-major f32. An absent (0 x 0) projection is the identity.
struct AttendInput {
  Matrix vectors;            // [seq, dim]
  Matrix query_projection;   // [dim, heads * head_dim]
  Matrix key_projection;     // [dim, heads * head_dim]
  Matrix value_projection;   // [dim, heads * value_dim]
  Matrix output_projection;  // [heads * value_dim, any], applied to the concatenated heads
  Matrix additive_vector;    // [1, heads * head_dim]: w of kAdditive
  Matrix given_weights;      // [heads * seq, seq]: used as they are instead of scoring
  int64_t heads = 1;
  AttendScore score = AttendScore::kScaledDot;
  AttendNormalizer normalizer = AttendNormalizer::kSoftmax;
  AttendPosition position = AttendPosition::kNone;
  AttendMask mask;
};

struct AttendResult {
  Matrix queries;  // [seq, heads * head_dim]
  Matrix keys;     // [seq, heads * head_dim]
  Matrix values;   // [seq, heads * value_dim]
  Matrix scores;   // [heads * seq, seq]: head h owns rows h*seq..; before the mask; empty when
                   // weights were given
  Matrix weights;  // [heads * seq, seq]: row = query, column = key
  Matrix outputs;  // [seq, heads * value_dim], or [seq, any] after the output projection
};

// kInvalidArgument names the field, the value and the limit; every shape is checked before any
// work.
absl::Status ValidateAttend(const AttendInput& input);

// Bytes of all the matrices that Attend would return: what an admission check compares before
// computing. REQUIRES: ValidateAttend(input) is OK.
int64_t AttendResultBytes(const AttendInput& input);

// Computes every step in f32 with f64 sums. `should_stop` is asked once per block of rows in every
// step, on the calling thread; true ends with kCancelled. Errors as ValidateAttend;
// kInvalidArgument also when finite input gives a step that f32 cannot hold. Thread-safe.
absl::StatusOr<AttendResult> Attend(const AttendInput& input,
                                    const std::function<bool()>& should_stop = nullptr);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTEND_H_
