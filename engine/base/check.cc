#include "engine/base/check.h"

#include <cstdlib>

#include "engine/base/log.h"

namespace attune::internal {

void CheckFailed(const char* file, int line, const char* condition) {
  Log(LogLevel::kError, "check_failed", condition, {{"file", file}, {"line", line}});
  std::abort();
}

}  // namespace attune::internal
