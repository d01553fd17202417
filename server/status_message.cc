#include "server/status_message.h"

namespace attune {

absl::string_view CutMessage(absl::string_view message) {
  constexpr size_t kMaxMessageBytes = 2048;
  if (message.size() <= kMaxMessageBytes) return message;
  size_t end = kMaxMessageBytes;
  // 10xxxxxx continues a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0u) == 0x80u) --end;
  return message.substr(0, end);
}

}  // namespace attune
