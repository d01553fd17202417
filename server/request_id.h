#ifndef ATTUNE_SERVER_REQUEST_ID_H_
#define ATTUNE_SERVER_REQUEST_ID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// The header, in metadata and in HTTP, that names a call: taken from the caller and given back.
inline constexpr char kRequestIdHeader[] = "x-request-id";

// Whether `text` is 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-'.
bool IsRequestId(absl::string_view text);

// `given` if it is one, else a fresh one: a bad id never fails a call, and never reaches a log.
std::string RequestIdOf(absl::string_view given);

}  // namespace attune

#endif  // ATTUNE_SERVER_REQUEST_ID_H_
