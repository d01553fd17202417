#ifndef ATTUNE_SERVER_GRPC_OPEN_STREAMS_H_
#define ATTUNE_SERVER_GRPC_OPEN_STREAMS_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"

namespace attune {

// A stream that can be open for as long as its client likes.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Takes nothing more in; ends with `reason` once what was taken has been answered.
  virtual void EndWith(const absl::Status& reason) = 0;
  // Cancels the stream if its client has taken nothing of what waits for it since `since`.
  virtual void CancelIfStalled(absl::Time since) = 0;
};

// The streams that are open, for what concerns all of them: ending them when the server drains, and
// cancelling one whose client takes nothing. Thread-safe.
class OpenStreams {
 public:
  // Clients get `stall_timeout` to take an answer, and at most a quarter of it, or a second, more.
  explicit OpenStreams(absl::Duration stall_timeout);
  // REQUIRES: none is open.
  ~OpenStreams();

  // `stream` is borrowed until Remove, which waits for calls of it to return.
  void Add(OpenStream& stream);
  void Remove(OpenStream& stream);

  void EndAll(const absl::Status& reason);

 private:
  void WatchForStalls();

  const absl::Duration stall_timeout_;

  Mutex mu_;
  CondVar changed_;
  absl::flat_hash_set<OpenStream*> streams_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread watch_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_OPEN_STREAMS_H_
