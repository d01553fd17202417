#include "client/batch_splitter.h"

#include <algorithm>
#include <limits>

namespace attune {
namespace {

// Tags and lengths of Embedding and its fields, at their longest: 2 x (1 + 5) for the two lengths,
// 1 + 5 for tokens, 2 for each of truncated and beyond_trained_length.
constexpr size_t kEmbeddingOverheadBytes = 22;

// a + b <= limit, without overflow.
bool SumFits(size_t a, size_t b, size_t limit) { return b <= limit && a <= limit - b; }

}  // namespace

size_t EmbeddingReplyBytes(uint64_t values) {
  constexpr uint64_t kMost =
      (std::numeric_limits<size_t>::max() - kEmbeddingOverheadBytes) / sizeof(float);
  return static_cast<size_t>(std::min(values, kMost)) * sizeof(float) + kEmbeddingOverheadBytes;
}

bool BatchSplitter::Fits(const BatchCost& cost) const {
  if (items_ == 0) return true;
  return items_ < limits_.max_items &&
         SumFits(total_.request_bytes, cost.request_bytes, limits_.max_request_bytes) &&
         SumFits(total_.reply_bytes, cost.reply_bytes, limits_.max_reply_bytes);
}

void BatchSplitter::Add(const BatchCost& cost) {
  ++items_;
  total_.request_bytes += cost.request_bytes;
  total_.reply_bytes += cost.reply_bytes;
}

void BatchSplitter::Clear() {
  items_ = 0;
  total_ = {};
}

}  // namespace attune
