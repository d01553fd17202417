// Masks as lists: which keys each query of Attend may see.
#ifndef ATTUNE_ENGINE_INTERPRET_ATTEND_MASK_H_
#define ATTUNE_ENGINE_INTERPRET_ATTEND_MASK_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/interpret/attend.h"

namespace attune {

// Immutable and thread-safe.
class VisibleKeys {
 public:
  // REQUIRES: `mask` is valid for `seq` vectors, as ValidateAttend checks.
  VisibleKeys(const AttendMask& mask, int64_t seq);

  // The keys that `query` may see, ascending, each once. Lives as long as this object.
  absl::Span<const int64_t> Of(int64_t query) const;

 private:
  // Query i sees keys_[begin_[i]] to keys_[end_[i] - 1]. For the masks that are ranges of keys,
  // keys_ is 0 to seq - 1 and the ranges overlap; for a graph it is the neighbours, query by query.
  std::vector<int64_t> keys_;
  std::vector<int64_t> begin_;  // [seq]
  std::vector<int64_t> end_;    // [seq]
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTEND_MASK_H_
