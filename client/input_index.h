// Which input an error of bulk work is about. Private to the client.
#ifndef ATTUNE_CLIENT_INPUT_INDEX_H_
#define ATTUNE_CLIENT_INPUT_INDEX_H_

#include <cstddef>

#include "absl/status/status.h"

namespace attune::internal {

// `status` with "input N: " before its message, and the number where FailedInputIndex finds it.
absl::Status WithInputIndex(const absl::Status& status, size_t index);

}  // namespace attune::internal

#endif  // ATTUNE_CLIENT_INPUT_INDEX_H_
