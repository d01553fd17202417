#include "server/start_threads.h"

#include <system_error>

#include "absl/strings/str_cat.h"
#include "engine/base/log.h"

namespace attune {

absl::Status StartThreads(absl::string_view what, int count, const std::function<void(int)>& work,
                          std::vector<std::thread>& threads) {
  for (int i = 0; i < count; ++i) {
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error& error) {
      if (i == 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("cannot start a ", what, " thread: ", error.what()));
      }
      Log(LogLevel::kWarning, "fewer_threads", "not all threads could be started",
          {{"threads", what}, {"wanted", count}, {"started", i}, {"error", error.what()}});
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace attune
