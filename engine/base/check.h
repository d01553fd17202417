// ATTUNE_CHECK: for our own broken invariants only. Bad input gets a Status, never a check.
#ifndef ATTUNE_ENGINE_BASE_CHECK_H_
#define ATTUNE_ENGINE_BASE_CHECK_H_

namespace attune::internal {

// Logs `condition` with its place and aborts the process.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace attune::internal

#define ATTUNE_CHECK(condition)                        \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::attune::internal::CheckFailed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define ATTUNE_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define ATTUNE_DCHECK(condition) ATTUNE_CHECK(condition)
#endif

#endif  // ATTUNE_ENGINE_BASE_CHECK_H_
