// Sharing one thread's computation with threads that have nothing better to do.
#ifndef ATTUNE_ENGINE_BASE_TEAM_H_
#define ATTUNE_ENGINE_BASE_TEAM_H_

#include <atomic>
#include <chrono>
#include <optional>

#include "absl/functional/function_ref.h"
#include "engine/base/part_counter.h"

namespace attune {

// One thread, the leader, computes in steps of independent parts; others may help. Each part goes
// to the thread that takes it first, the leader included, so a helper that comes late, leaves
// between two parts or is held up by the system costs time and never work; once the leader has
// waited long for one, it goes on alone. A Seat is what a thread computes with: its scratch memory.
// The team outlives every call of Help.
template <typename Seat>
class Team {
 public:
  using Step = absl::FunctionRef<void(Seat& seat, int part)>;

  // A team of a leader and at most `helpers` others.
  explicit Team(int helpers) : helpers_(helpers) {}

  // How many threads a step is worth cutting up for. Leader only.
  int lanes() const { return held_up_ ? 1 : 1 + helpers_.load(std::memory_order_relaxed); }

  // Whether the leader has waited so long for a helper that somebody else must be using its CPU.
  // Leader only.
  bool held_up() const { return held_up_; }

  // Calls `step` once for each part in [0, parts), on the leader's seat and on those of whoever
  // helps, and returns when all calls have. Leader only.
  void Run(Seat& seat, int parts, Step step) {
    if (lanes() == 1) {
      for (int part = 0; part < parts; ++part) step(seat, part);
      return;
    }
    const Clock::time_point begin = Clock::now();
    step_ = &step;
    parts_.Open(parts);
    RunParts(seat);
    const Clock::time_point end = Clock::now();
    parts_.AwaitFinished();
    held_up_ = Clock::now() - end > (end - begin) + kLongWait;
  }

  // Takes part in the leader's steps until it dismisses the team or, after a step, `should_leave`.
  // Any other thread.
  void Help(Seat& seat, absl::FunctionRef<bool()> should_leave) {
    while (parts_.AwaitOpen()) {
      RunParts(seat);
      if (should_leave()) break;
    }
    helpers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // There is no further step: helpers return. Leader only, once.
  void Dismiss() { parts_.Close(); }

 private:
  using Clock = std::chrono::steady_clock;
  // Some times what waking a thread costs, and much less than the system's time slices.
  static constexpr std::chrono::microseconds kLongWait{200};

  void RunParts(Seat& seat) {
    while (const std::optional<int> part = parts_.Take()) {
      (*step_)(seat, *part);
      parts_.Finish();
    }
  }

  const Step* step_ = nullptr;  // of the open step; ordered by parts_
  PartCounter parts_;
  std::atomic<int> helpers_;
  bool held_up_ = false;  // the leader's
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_TEAM_H_
