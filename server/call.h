#ifndef ATTUNE_SERVER_CALL_H_
#define ATTUNE_SERVER_CALL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"
#include "server/byte_budget.h"
#include "server/call_record.h"
#include "server/work_class.h"

namespace attune {

class Call;

// Whatever holds a place for a call, and wants to free it as soon as nobody waits for the answer.
class CancelListener {
 public:
  virtual ~CancelListener() = default;
  // On the thread that cancels, which may hold locks: must be quick, and must not answer the call.
  virtual void OnCancelled(const Call& call) = 0;
};

// The life of one request as everyone who works on it sees it: whose it is, until when the answer
// is wanted, whether it still is, and what the work on it has cost. Thread-safe.
class Call {
 public:
  // `client` is who shares the server's time with others: a name, or an address without a port.
  // `record` is that of the call, or of the stream whose item this is; null if nobody keeps one.
  explicit Call(absl::Time deadline, std::string client = "",
                WorkClass work_class = WorkClass::kInteractive,
                std::shared_ptr<CallRecord> record = nullptr)
      : deadline_(deadline),
        client_(std::move(client)),
        work_class_(work_class),
        record_(std::move(record)) {}

  // The caller went away. Tells the listener, once.
  void Cancel() {
    std::shared_ptr<CancelListener> listener;
    {
      MutexLock lock(mu_);
      cancelled_ = true;
      listener = std::exchange(listener_, {}).lock();
    }
    if (listener != nullptr) listener->OnCancelled(*this);
  }
  // The request has failed already; whatever is left of it need not run.
  void Abandon() { Cancel(); }

  // From now on Cancel tells `listener`, and none before it. False, and it is told nothing, if the
  // call is cancelled already.
  bool ListenForCancel(std::weak_ptr<CancelListener> listener) {
    MutexLock lock(mu_);
    if (cancelled_) return false;
    listener_ = std::move(listener);
    return true;
  }

  // Holds `bytes` until the call is over: answered, and forgotten by everyone.
  void Hold(ByteBudget::Reservation bytes) {
    MutexLock lock(mu_);
    held_.push_back(std::move(bytes));
  }

  absl::Time deadline() const { return deadline_; }
  const std::string& client() const { return client_; }
  WorkClass work_class() const { return work_class_; }
  // Null if nobody keeps one.
  CallRecord* record() const { return record_.get(); }
  const std::shared_ptr<CallRecord>& shared_record() const { return record_; }

  // kCancelled or kDeadlineExceeded once no answer is wanted any more.
  absl::Status CheckWanted(absl::Time now) const {
    {
      MutexLock lock(mu_);
      if (cancelled_) return absl::CancelledError("the caller cancelled the request");
    }
    if (now >= deadline_) {
      return absl::DeadlineExceededError("the deadline passed before the work was done");
    }
    return absl::OkStatus();
  }

 private:
  const absl::Time deadline_;
  const std::string client_;
  const WorkClass work_class_;
  const std::shared_ptr<CallRecord> record_;

  mutable Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::weak_ptr<CancelListener> listener_ ABSL_GUARDED_BY(mu_);
  std::vector<ByteBudget::Reservation> held_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CALL_H_
