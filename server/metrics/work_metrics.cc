#include "server/metrics/work_metrics.h"

#include <optional>
#include <string>

#include "server/metrics/buckets.h"

namespace attune {
namespace {

prometheus::Gauge* NewGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter* NewCounter(prometheus::Registry& registry, const char* name,
                                const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram* NewHistogram(prometheus::Registry& registry, const char* name,
                                    const char* help, const std::vector<double>& buckets) {
  return &prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

WorkMetrics::WorkMetrics(prometheus::Registry& registry) {
  queue_depth_ =
      NewGauge(registry, "attune_queue_depth", "Texts and other pieces of work that wait");
  queue_tokens_ = NewGauge(registry, "attune_queue_tokens", "Tokens that wait for a worker");
  queue_tokens_limit_ =
      NewGauge(registry, "attune_queue_tokens_limit",
               "Tokens that may wait before calls are refused; 0 until there is a model");
  pending_bytes_ =
      NewGauge(registry, "attune_pending_bytes", "Bytes of text that wait to be tokenised");
  attention_reserved_bytes_ = NewGauge(registry, "attune_attention_reserved_bytes",
                                       "Bytes that attention maps in progress hold");
  attention_streams_ =
      NewGauge(registry, "attune_attention_streams", "StreamAttentionMap calls that are open");

  auto& queue_wait = prometheus::BuildHistogram()
                         .Name("attune_queue_wait_seconds")
                         .Help("Time that a text waited for a worker")
                         .Register(registry);
  queue_wait_seconds_ = {&queue_wait.Add({{"class", "interactive"}}, DurationBuckets()),
                         &queue_wait.Add({{"class", "bulk"}}, DurationBuckets())};
  tokenize_seconds_ = NewHistogram(registry, "attune_tokenize_seconds",
                                   "Time to tokenise the texts of a request", DurationBuckets());
  compute_seconds_ =
      NewHistogram(registry, "attune_compute_seconds",
                   "Time a worker spent on a batch, answers included", DurationBuckets());
  stream_stall_seconds_ =
      NewHistogram(registry, "attune_stream_stall_seconds",
                   "Time a stream's message waited for its client to take it", DurationBuckets());
  batch_items_ = NewHistogram(registry, "attune_batch_items", "Texts in a batch",
                              GrowingBuckets(1, 2, 1 << 10));
  batch_tokens_ = NewHistogram(registry, "attune_batch_tokens", "Tokens in a batch",
                               GrowingBuckets(1, 2, 1 << 16));

  auto& rejected = prometheus::BuildCounter()
                       .Name("attune_rejected_total")
                       .Help("Calls that were refused, though nothing was wrong with them")
                       .Register(registry);
  for (size_t i = 0; i < rejected_.size(); ++i) {
    rejected_[i] = &rejected.Add({{"reason", std::string(RefusalName(i))}});
  }
  auto& dropped = prometheus::BuildCounter()
                      .Name("attune_dropped_total")
                      .Help("Texts that left the queue unserved: too late, or no longer wanted")
                      .Register(registry);
  dropped_deadline_ = &dropped.Add({{"reason", "deadline"}});
  dropped_cancelled_ = &dropped.Add({{"reason", "cancelled"}});
  truncated_texts_ = NewCounter(registry, "attune_truncated_texts_total",
                                "Texts that were cut to the token limit");
  nonfinite_outputs_ = NewCounter(registry, "attune_nonfinite_outputs_total",
                                  "Vectors and maps that were refused as not finite");
}

void WorkMetrics::SetLoad(const WorkLoad& load) {
  queue_depth_->Set(static_cast<double>(load.queue_items));
  queue_tokens_->Set(static_cast<double>(load.queue_tokens));
  queue_tokens_limit_->Set(static_cast<double>(load.queue_tokens_limit));
  pending_bytes_->Set(static_cast<double>(load.pending_bytes));
  attention_reserved_bytes_->Set(static_cast<double>(load.attention_reserved_bytes));
}

void WorkMetrics::OnItemTaken(WorkClass work_class, absl::Duration waited) {
  queue_wait_seconds_[static_cast<size_t>(work_class)]->Observe(absl::ToDoubleSeconds(waited));
}

void WorkMetrics::Tokenized(absl::Duration duration, int64_t truncated_texts) {
  tokenize_seconds_->Observe(absl::ToDoubleSeconds(duration));
  if (truncated_texts > 0) truncated_texts_->Increment(static_cast<double>(truncated_texts));
}

void WorkMetrics::Computed(int64_t items, int64_t tokens, absl::Duration duration) {
  batch_items_->Observe(static_cast<double>(items));
  batch_tokens_->Observe(static_cast<double>(tokens));
  compute_seconds_->Observe(absl::ToDoubleSeconds(duration));
}

void WorkMetrics::CountIfRefused(const absl::Status& status) {
  if (status.ok()) return;
  const std::optional<size_t> reason = RefusalIndex(status);
  if (reason.has_value()) rejected_[*reason]->Increment();
}

void WorkMetrics::OnItemDropped(absl::StatusCode why) {
  (why == absl::StatusCode::kDeadlineExceeded ? dropped_deadline_ : dropped_cancelled_)
      ->Increment();
}

}  // namespace attune
