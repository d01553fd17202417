#include "server/call_gate.h"

#include <utility>

#include "engine/base/clock.h"
#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {

CallGate::CallGate()
    : refusal_(WithReason(absl::UnavailableError("the server is loading"), ErrorReason::kLoading)) {
}

void CallGate::Serve(std::shared_ptr<const Backend> backend) {
  MutexLock lock(mu_);
  backend_ = std::move(backend);
  refusal_ = absl::OkStatus();
}

void CallGate::Replace(std::shared_ptr<const Backend> backend) {
  MutexLock lock(mu_);
  std::swap(backend_, backend);
}

void CallGate::Refuse(absl::Status reason) {
  MutexLock lock(mu_);
  refusal_ = std::move(reason);
}

void CallGate::Enter() {
  MutexLock lock(mu_);
  ++calls_;
  last_arrival_ = SteadyNow();
}

void CallGate::Leave() {
  MutexLock lock(mu_);
  if (--calls_ == 0) idle_.NotifyAll();
}

absl::StatusOr<std::shared_ptr<const Backend>> CallGate::backend() {
  MutexLock lock(mu_);
  if (!refusal_.ok()) return WithRetryDelay(refusal_, RetryDelay(kUnmeasuredWait));
  return backend_;
}

bool CallGate::WaitIdle(absl::Duration timeout) {
  const absl::Time deadline = SteadyNow() + timeout;
  MutexLock lock(mu_);
  while (calls_ > 0) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return false;
    idle_.WaitFor(mu_, left);
  }
  return true;
}

absl::Time CallGate::last_arrival() {
  MutexLock lock(mu_);
  return last_arrival_;
}

}  // namespace attune
