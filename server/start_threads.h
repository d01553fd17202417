// Threads, as many as the system lets this process have.
#ifndef ATTUNE_SERVER_START_THREADS_H_
#define ATTUNE_SERVER_START_THREADS_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attune {

// Adds up to `count` threads to `threads`, of which thread i runs work(i). Fewer, as where a
// container bounds its threads, are a warning in the log, which calls them `what`; not even one is
// kResourceExhausted.
absl::Status StartThreads(absl::string_view what, int count, const std::function<void(int)>& work,
                          std::vector<std::thread>& threads);

}  // namespace attune

#endif  // ATTUNE_SERVER_START_THREADS_H_
