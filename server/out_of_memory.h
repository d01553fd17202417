// Memory that runs out, as the error of the one request that ran out of it.
#ifndef ATTUNE_SERVER_OUT_OF_MEMORY_H_
#define ATTUNE_SERVER_OUT_OF_MEMORY_H_

#include <new>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attune {

// kResourceExhausted with a reason and a delay: trying again may help.
absl::Status OutOfMemory(
    absl::string_view message = "the server is out of memory; try again later");

// What `work` returns, an absl::Status or a StatusOr; OutOfMemory() if an allocation in it failed.
// Around whatever grows with its input and runs on a thread of gRPC or of ours, where an exception
// would end the process.
template <typename Work>
auto OrOutOfMemory(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace attune

#endif  // ATTUNE_SERVER_OUT_OF_MEMORY_H_
