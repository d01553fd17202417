#ifndef ATTUNE_SERVER_METRICS_WORK_METRICS_H_
#define ATTUNE_SERVER_METRICS_WORK_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/queue_observer.h"
#include "server/refusal_reason.h"

namespace attune {

// How much of the server's bounded things is taken.
struct WorkLoad {
  int64_t queue_items = 0;
  int64_t queue_tokens = 0;
  int64_t pending_bytes = 0;
  int64_t attention_reserved_bytes = 0;
  // The most that queue_tokens may be.
  int64_t queue_tokens_limit = 0;
};

// What happens to the work of calls on its way through the server: the queue, the batches, what is
// refused and dropped. Thread-safe; counting allocates nothing.
class WorkMetrics final : public QueueObserver {
 public:
  // `registry` owns the series and outlives this.
  explicit WorkMetrics(prometheus::Registry& registry);

  void SetLoad(const WorkLoad& load);

  void Tokenized(absl::Duration duration, int64_t truncated_texts);
  // A batch, or a job that had a worker for itself.
  void Computed(int64_t items, int64_t tokens, absl::Duration duration);
  void NonFiniteOutput() { nonfinite_outputs_->Increment(); }

  // Counts a call that was refused, if `status` says so: by the status's own reason. A status that
  // finds fault with the request counts nothing.
  void CountIfRefused(const absl::Status& status);
  void OnItemTaken(WorkClass work_class, absl::Duration waited) override;
  void OnItemDropped(absl::StatusCode why) override;

  void AttentionStreamOpened() { attention_streams_->Increment(); }
  void AttentionStreamClosed() { attention_streams_->Decrement(); }
  // How long a message waited for its client to take it.
  void StreamWriteWaited(absl::Duration wait) {
    stream_stall_seconds_->Observe(absl::ToDoubleSeconds(wait));
  }

 private:
  prometheus::Gauge* queue_depth_;
  prometheus::Gauge* queue_tokens_;
  prometheus::Gauge* queue_tokens_limit_;
  prometheus::Gauge* pending_bytes_;
  prometheus::Gauge* attention_reserved_bytes_;
  prometheus::Gauge* attention_streams_;
  std::array<prometheus::Histogram*, 2> queue_wait_seconds_;  // by WorkClass
  prometheus::Histogram* tokenize_seconds_;
  prometheus::Histogram* compute_seconds_;
  prometheus::Histogram* stream_stall_seconds_;
  prometheus::Histogram* batch_items_;
  prometheus::Histogram* batch_tokens_;
  std::array<prometheus::Counter*, kRefusalCounts> rejected_;
  prometheus::Counter* dropped_deadline_;
  prometheus::Counter* dropped_cancelled_;
  prometheus::Counter* truncated_texts_;
  prometheus::Counter* nonfinite_outputs_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_WORK_METRICS_H_
