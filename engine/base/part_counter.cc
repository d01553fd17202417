#include "engine/base/part_counter.h"

#include <immintrin.h>

#include <chrono>

#include "engine/base/check.h"

namespace attune {
namespace {

constexpr std::chrono::microseconds kSpin{50};

// Whether `done` came true while it was worth spinning.
template <typename Condition>
bool SpinUntil(Condition done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      _mm_pause();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

// Every operation that a sleeper is woken after is sequentially consistent: the store must not
// drift behind the look at who sleeps.

void PartCounter::Open(int parts) {
  ATTUNE_DCHECK(parts >= 0 && open_.load() == 0 && unfinished_.load() == 0);
  parts_ = parts;
  unfinished_.store(parts, std::memory_order_relaxed);
  open_.store(parts);
  open_.notify_all();
}

std::optional<int> PartCounter::Take() {
  int open = open_.load(std::memory_order_relaxed);
  while (open > 0) {
    // Only a part that is ours keeps the step open, so parts_ is read after the exchange.
    if (open_.compare_exchange_weak(open, open - 1, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return parts_ - open;
    }
  }
  return std::nullopt;
}

void PartCounter::Finish() {
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_one();
}

void PartCounter::AwaitFinished() {
  const auto finished = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(finished)) return;
  while (!finished()) {
    const int unfinished = unfinished_.load();
    if (unfinished > 0) unfinished_.wait(unfinished);
  }
}

bool PartCounter::AwaitOpen() {
  const auto changed = [this] { return open_.load(std::memory_order_relaxed) != 0; };
  if (!SpinUntil(changed)) open_.wait(0);
  return open_.load(std::memory_order_relaxed) != kClosed;
}

void PartCounter::Close() {
  open_.store(kClosed);
  open_.notify_all();
}

}  // namespace attune
