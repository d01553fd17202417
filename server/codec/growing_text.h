#ifndef ATTUNE_SERVER_CODEC_GROWING_TEXT_H_
#define ATTUNE_SERVER_CODEC_GROWING_TEXT_H_

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace attune {

// A string for protobuf to write into. Unlike protobuf's own it refuses where there is no memory to
// grow, as a full disk would, and does not throw: when it throws, the writers above it end the
// process, because they write what they still hold in their destructors.
class GrowingText final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  bool Next(void** data, int* size) override;
  void BackUp(int bytes) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(text_.size()); }

  // Whether it has refused; what it has is then a part.
  bool out_of_memory() const { return out_of_memory_; }
  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool out_of_memory_ = false;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_GROWING_TEXT_H_
