#ifndef ATTUNE_SERVER_CALL_GATE_H_
#define ATTUNE_SERVER_CALL_GATE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"
#include "engine/text/tokenizer.h"
#include "server/request_pipeline.h"

namespace attune {

// What answers calls. Lives as long as someone holds it.
struct Backend {
  RequestPipeline* pipeline = nullptr;
  const Tokenizer* tokenizer = nullptr;
};

// Where the calls of every transport come in: refused or let through to the backend, and counted,
// so that a drain knows when the last has ended. Thread-safe.
class CallGate {
 public:
  CallGate();

  // Until Serve, and again after Refuse, calls are to end with kUnavailable.
  void Serve(std::shared_ptr<const Backend> backend);
  // Another backend for the calls that are let through from now on.
  void Replace(std::shared_ptr<const Backend> backend);
  void Refuse(absl::Status reason);

  // Around each call, refused ones included.
  void Enter();
  void Leave();
  // What answers a call, to be held until the call is over; or the reason why it is refused, with a
  // delay to try again after.
  absl::StatusOr<std::shared_ptr<const Backend>> backend();

  // Waits until no call is inside; false if `timeout` passed first.
  bool WaitIdle(absl::Duration timeout);
  // When the newest call arrived, served or refused.
  absl::Time last_arrival();

 private:
  Mutex mu_;
  CondVar idle_;
  std::shared_ptr<const Backend> backend_ ABSL_GUARDED_BY(mu_);
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_arrival_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

// A call that is inside the gate as long as this object lives.
class CallEntry {
 public:
  explicit CallEntry(CallGate& gate) : gate_(gate) { gate_.Enter(); }
  CallEntry(const CallEntry&) = delete;
  CallEntry& operator=(const CallEntry&) = delete;
  ~CallEntry() { gate_.Leave(); }

 private:
  CallGate& gate_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CALL_GATE_H_
