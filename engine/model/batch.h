// A packed batch: the tokens of several texts one after the other, with no padding anywhere.
#ifndef ATTUNE_ENGINE_MODEL_BATCH_H_
#define ATTUNE_ENGINE_MODEL_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/ops/attention.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Text b owns rows [row_begin[b], row_begin[b + 1]).
struct Batch {
  std::vector<int32_t> token_ids;        // [tokens]
  std::vector<int32_t> type_ids;         // [tokens]
  std::vector<int64_t> row_begin = {0};  // [texts + 1]
  // Of texts that came as vectors, [seq, hidden] each, borrowed until the pass is over; of others
  // no rows. Shorter than texts() when no later text has any.
  std::vector<ConstMatrixView> vectors;
  // What tokens of each text attend to. Shorter than texts() when later texts have no limit.
  std::vector<AttentionWindow> windows;

  int64_t texts() const { return static_cast<int64_t>(row_begin.size()) - 1; }
  int64_t tokens() const { return row_begin.back(); }
  int64_t seq(int64_t text) const {
    return row_begin[static_cast<size_t>(text) + 1] - row_begin[static_cast<size_t>(text)];
  }

  // Appends one text. `types` has as many elements as `ids`, or is empty for all 0.
  void Append(absl::Span<const int32_t> ids, absl::Span<const int32_t> types);
  // Appends a text whose vectors [seq, hidden] take the place of word embeddings; its ids and types
  // are 0.
  void AppendVectors(ConstMatrixView text);
  // Limits what tokens of the text that was appended last attend to, in every layer and head.
  void LimitAttention(const AttentionWindow& window);
  AttentionWindow WindowOf(int64_t text) const;
  // The vectors of `text`; no rows if it came as ids.
  ConstMatrixView VectorsOf(int64_t text) const;
  void Clear();
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_BATCH_H_
