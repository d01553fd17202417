// Decides which consecutive inputs share a request, so that request and reply fit their limits.
#ifndef ATTUNE_CLIENT_BATCH_SPLITTER_H_
#define ATTUNE_CLIENT_BATCH_SPLITTER_H_

#include <cstddef>
#include <cstdint>

namespace attune {

struct BatchLimits {
  // Each is at least 1.
  size_t max_items = 1;
  size_t max_request_bytes = 1;
  size_t max_reply_bytes = 1;
};

// What one input adds to its request and its reply, in bytes; an upper bound.
struct BatchCost {
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
};

// The bytes that `values` floats take in a reply, with the fields around them.
size_t EmbeddingReplyBytes(uint64_t values);

// The request under construction. Thread-compatible.
class BatchSplitter {
 public:
  explicit BatchSplitter(const BatchLimits& limits) : limits_(limits) {}

  // Whether `cost` still fits. True for any input while the request is empty: one that is over a
  // limit alone goes alone, and the server says what is wrong with it.
  bool Fits(const BatchCost& cost) const;
  void Add(const BatchCost& cost);
  void Clear();
  size_t items() const { return items_; }

 private:
  const BatchLimits limits_;
  size_t items_ = 0;
  BatchCost total_;
};

}  // namespace attune

#endif  // ATTUNE_CLIENT_BATCH_SPLITTER_H_
