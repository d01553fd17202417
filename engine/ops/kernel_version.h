#ifndef ATTUNE_ENGINE_OPS_KERNEL_VERSION_H_
#define ATTUNE_ENGINE_OPS_KERNEL_VERSION_H_

namespace attune {

// Raise it whenever a change to engine/ops or engine/model may change a result: what was measured
// about another version's results is then measured again.
inline constexpr int kKernelVersion = 2;

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_KERNEL_VERSION_H_
