#include "server/codec/growing_text.h"

#include <algorithm>
#include <new>

namespace attune {
namespace {

// It doubles, but grows by no less and no more than this at a time.
constexpr size_t kLeastBytes = 1 << 10;
constexpr size_t kMostBytes = 1 << 20;

}  // namespace

bool GrowingText::Next(void** data, int* size) {
  const size_t used = text_.size();
  try {
    text_.resize(used + std::clamp(used, kLeastBytes, kMostBytes));
  } catch (const std::bad_alloc&) {
    out_of_memory_ = true;
    return false;
  }
  *data = text_.data() + used;
  *size = static_cast<int>(text_.size() - used);
  return true;
}

void GrowingText::BackUp(int bytes) { text_.resize(text_.size() - static_cast<size_t>(bytes)); }

}  // namespace attune
