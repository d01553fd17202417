#include "server/status_message.h"

namespace attune {

absl::string_view CutMessage(absl::string_view message, size_t max_bytes) {
  if (message.size() <= max_bytes) return message;
  size_t end = max_bytes;
  // 10xxxxxx continues a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0u) == 0x80u) --end;
  return message.substr(0, end);
}

}  // namespace attune
