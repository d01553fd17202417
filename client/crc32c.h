// The checksum of StreamAttentionMap. The client does not see the engine, which has its own.
#ifndef ATTUNE_CLIENT_CRC32C_H_
#define ATTUNE_CLIENT_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace attune::internal {

// The CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes` after those whose CRC is `crc`; 0 for
// none. Thread-safe.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

}  // namespace attune::internal

#endif  // ATTUNE_CLIENT_CRC32C_H_
