// A packed batch: the tokens of several texts one after the other, with no padding anywhere.
#ifndef ATTUNE_ENGINE_MODEL_BATCH_H_
#define ATTUNE_ENGINE_MODEL_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace attune {

// Text b owns rows [row_begin[b], row_begin[b + 1]).
struct Batch {
  std::vector<int32_t> token_ids;        // [tokens]
  std::vector<int32_t> type_ids;         // [tokens]
  std::vector<int64_t> row_begin = {0};  // [texts + 1]

  int64_t texts() const { return static_cast<int64_t>(row_begin.size()) - 1; }
  int64_t tokens() const { return row_begin.back(); }
  int64_t seq(int64_t text) const {
    return row_begin[static_cast<size_t>(text) + 1] - row_begin[static_cast<size_t>(text)];
  }

  // Appends one text. `types` has as many elements as `ids`, or is empty for all 0.
  void Append(absl::Span<const int32_t> ids, absl::Span<const int32_t> types);
  void Clear();
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_BATCH_H_
