#ifndef ATTUNE_SERVER_GRPC_REACTOR_ORDER_H_
#define ATTUNE_SERVER_GRPC_REACTOR_ORDER_H_

#if defined(__SANITIZE_THREAD__)
#define ATTUNE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTUNE_THREAD_SANITIZER 1
#endif
#endif

#ifdef ATTUNE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace attune {

// gRPC runs a reactor's reactions on different threads, one after the other, and calls a service
// on threads that may be older than it; both are ordered inside a library that ThreadSanitizer
// cannot see into. These two say so, for one reactor or service: what came before HandOver(object)
// on one thread is seen after TakeOver(object) on another. They do nothing in other builds.
inline void HandOver([[maybe_unused]] void* object) {
#ifdef ATTUNE_THREAD_SANITIZER
  __tsan_release(object);
#endif
}

inline void TakeOver([[maybe_unused]] void* object) {
#ifdef ATTUNE_THREAD_SANITIZER
  __tsan_acquire(object);
#endif
}

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_REACTOR_ORDER_H_
