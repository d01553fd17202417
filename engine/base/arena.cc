#include "engine/base/arena.h"

namespace attune {

std::shared_ptr<std::byte> Arena::Allocate(size_t bytes) {
  if (bytes > piece_->size_bytes() - used_) {
    const auto own = std::make_shared<AlignedBuffer>(bytes);
    return {own, own->data()};
  }
  std::byte* const block = piece_->data() + used_;
  const size_t rounded = (bytes + 63) / 64 * 64;
  used_ = rounded < piece_->size_bytes() - used_ ? used_ + rounded : piece_->size_bytes();
  return {piece_, block};
}

}  // namespace attune
