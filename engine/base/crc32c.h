#ifndef ATTUNE_ENGINE_BASE_CRC32C_H_
#define ATTUNE_ENGINE_BASE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace attune {

// The CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes` after those whose CRC is `crc`; 0 for
// none. Thread-safe.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_CRC32C_H_
