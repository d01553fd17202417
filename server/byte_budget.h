#ifndef ATTUNE_SERVER_BYTE_BUDGET_H_
#define ATTUNE_SERVER_BYTE_BUDGET_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/mutex.h"
#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {

// A pool of bytes that requests hold while they run, so that many at once cannot exhaust memory.
// Thread-safe; outlives its reservations.
class ByteBudget {
 public:
  // How errors speak of it.
  struct Names {
    ErrorReason reason;
    std::string flag;     // that sets the limit, without dashes in front
    std::string holders;  // "attention maps of other requests"
  };

  ByteBudget(int64_t limit_bytes, Names names)
      : limit_bytes_(limit_bytes), names_(std::move(names)) {}

  // Bytes held until the object goes away. Move-only.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept { *this = std::move(other); }
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->Release(bytes_);
    }

   private:
    friend class ByteBudget;
    Reservation(ByteBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
    ByteBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

  // kResourceExhausted while others hold too much: it helps to try again later.
  absl::StatusOr<Reservation> Reserve(int64_t bytes) {
    MutexLock lock(mu_);
    if (bytes > limit_bytes_ - held_bytes_) {
      return LimitReached(
          names_.reason, {names_.flag, limit_bytes_, held_bytes_, bytes},
          absl::StrCat(names_.holders, " hold ", held_bytes_, " bytes, this one needs ", bytes,
                       ", the limit for all is ", limit_bytes_, "; try again later"),
          RetryDelay(kUnmeasuredWait));
    }
    held_bytes_ += bytes;
    return Reservation(this, bytes);
  }

  int64_t limit_bytes() const { return limit_bytes_; }

  int64_t held_bytes() const {
    MutexLock lock(mu_);
    return held_bytes_;
  }

 private:
  void Release(int64_t bytes) {
    MutexLock lock(mu_);
    held_bytes_ -= bytes;
  }

  const int64_t limit_bytes_;
  const Names names_;
  mutable Mutex mu_;
  int64_t held_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_BYTE_BUDGET_H_
