// What one thread needs to run ops: a oneDNN stream, scratch memory and the thread settings.
#ifndef ATTUNE_ENGINE_OPS_OP_CONTEXT_H_
#define ATTUNE_ENGINE_OPS_OP_CONTEXT_H_

#include <cstddef>
#include <memory>
#include <string>

namespace attune {

// Thread-compatible: one per thread, created on the thread that uses it. Creating one sets this
// thread's OpenMP team to a single thread, since oneDNN reads that at creation and at execution:
// parallelism is the worker pool's, never a library's.
class OpContext {
 public:
  OpContext();
  ~OpContext();
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  // oneDNN objects, for files in engine/ops only.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The instruction set that ops run with, e.g. "avx512_core_amx", after any cap the operator set.
std::string EffectiveIsa();

// The version of oneDNN that is loaded, e.g. "2.6.3".
std::string OneDnnVersion();

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_OP_CONTEXT_H_
