#ifndef ATTUNE_ENGINE_BASE_PART_COUNTER_H_
#define ATTUNE_ENGINE_BASE_PART_COUNTER_H_

#include <atomic>
#include <optional>

namespace attune {

// Hands out the parts 0, 1, ... of one step after another, each part to exactly one thread. One
// thread opens the steps; the others take what is open. Whoever waits spins for some tens of
// microseconds, about what a wake-up costs, and then sleeps. Thread-safe where a method does not
// say otherwise.
class PartCounter {
 public:
  // Opens a step. What was written before is visible to whoever takes a part. By the opening thread
  // only; REQUIRES: the step before has been awaited, parts >= 0, not closed.
  void Open(int parts);

  // A part that nobody has, or nothing when all are taken.
  std::optional<int> Take();

  // A part that was taken is done. What was written before is visible after AwaitFinished.
  void Finish();

  // Blocks until every part of the step is done. By the opening thread only.
  void AwaitFinished();

  // Blocks until there are parts to take, or until Close: then false.
  bool AwaitOpen();

  // No step follows. By the opening thread only, with no part open.
  void Close();

 private:
  static constexpr int kClosed = -1;

  int parts_ = 0;  // of the open step; ordered by open_
  // On cache lines of their own: threads spin on them.
  alignas(64) std::atomic<int> open_{0};  // parts that nobody has taken, or kClosed
  alignas(64) std::atomic<int> unfinished_{0};
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_PART_COUNTER_H_
