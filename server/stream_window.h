#ifndef ATTUNE_SERVER_STREAM_WINDOW_H_
#define ATTUNE_SERVER_STREAM_WINDOW_H_

#include <cstdint>

namespace attune {

// Flow control of a stream: how much of it is under way, from reading an item until its answer has
// been taken. Thread-compatible.
class StreamWindow {
 public:
  // Room for `max_items` items (at least 1), as long as they have fewer than `max_bytes` bytes.
  StreamWindow(int64_t max_items, int64_t max_bytes)
      : max_items_(max_items), max_bytes_(max_bytes) {}

  // Whether another item may be read. Its size is not known before, so that the bytes can be over
  // the limit by one item.
  bool HasRoom() const { return items_ < max_items_ && bytes_ < max_bytes_; }

  void Enter(int64_t bytes) {
    ++items_;
    bytes_ += bytes;
  }
  void Leave(int64_t bytes) {
    --items_;
    bytes_ -= bytes;
  }

 private:
  const int64_t max_items_;
  const int64_t max_bytes_;
  int64_t items_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_STREAM_WINDOW_H_
