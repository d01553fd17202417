// Denormal numbers as zero, for the span of a scope.
#ifndef ATTUNE_ENGINE_OPS_DENORMALS_H_
#define ATTUNE_ENGINE_OPS_DENORMALS_H_

#include <immintrin.h>

namespace attune {

// While it lives, this thread's vector arithmetic reads and writes denormals as zero: they carry
// nothing here and cost a hundred cycles each. Results must not depend on the calling thread's
// settings, hence a scope and not a thread-start hook. Lives and dies on one thread.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | _MM_FLUSH_ZERO_ON | kDenormalsAreZero);
  }
  ~ScopedFlushDenormals() { _mm_setcsr(saved_); }
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  static constexpr unsigned kDenormalsAreZero = 0x40;
  const unsigned saved_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_DENORMALS_H_
