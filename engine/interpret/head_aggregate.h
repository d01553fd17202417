#ifndef ATTUNE_ENGINE_INTERPRET_HEAD_AGGREGATE_H_
#define ATTUNE_ENGINE_INTERPRET_HEAD_AGGREGATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/interpret/attention_mapper.h"

namespace attune {

// The mean over texts of every head's statistics, each text counting once, whatever its length.
// Keeps sums alone, so that any number of texts takes the memory of one. Thread-compatible.
class HeadAggregate {
 public:
  // Adds a text. REQUIRES: the same layers and heads in the same order every time.
  void Add(absl::Span<const LayerHeadSummary> text);

  int64_t texts() const { return texts_; }
  // Empty before the first text.
  std::vector<LayerHeadSummary> Mean() const;

 private:
  int64_t texts_ = 0;
  std::vector<LayerHeadSummary> sums_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_HEAD_AGGREGATE_H_
