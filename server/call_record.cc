#include "server/call_record.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "server/call_monitor.h"
#include "server/metrics/metrics.h"

namespace attune {

CallRecord::CallRecord(CallMonitor& monitor, CallOrigin origin)
    : monitor_(monitor), origin_(std::move(origin)), arrival_(absl::Now()) {}

CallRecord::~CallRecord() { Finish(absl::UnknownError("the call was given up")); }

CallCosts CallRecord::costs() const {
  const auto load = [](const std::atomic<int64_t>& sum) {
    return sum.load(std::memory_order_relaxed);
  };
  CallCosts costs;
  costs.request_bytes = load(request_bytes_);
  costs.response_bytes = load(response_bytes_);
  costs.texts = load(texts_);
  costs.tokens = load(tokens_);
  costs.tokenizing = absl::Nanoseconds(load(tokenizing_ns_));
  costs.queued = absl::Nanoseconds(load(longest_queued_ns_));
  costs.computing =
      absl::Nanoseconds(load(computing_ns_)) + load(computing_) * (absl::Now() - arrival_);
  // The two were not read at the same moment.
  costs.computing = std::max(costs.computing, absl::ZeroDuration());
  return costs;
}

void CallRecord::AddInputs(int64_t texts, int64_t tokens) {
  Add(texts_, texts);
  Add(tokens_, tokens);
}

void CallRecord::Tokenized(absl::Duration duration, int64_t truncated_texts) {
  Add(tokenizing_ns_, absl::ToInt64Nanoseconds(duration));
  monitor_.metrics().work().Tokenized(duration, truncated_texts);
}

void CallRecord::Queued(absl::Duration wait) {
  const int64_t wait_ns = absl::ToInt64Nanoseconds(wait);
  int64_t longest = longest_queued_ns_.load(std::memory_order_relaxed);
  while (wait_ns > longest &&
         !longest_queued_ns_.compare_exchange_weak(longest, wait_ns, std::memory_order_relaxed)) {
  }
}

void CallRecord::BeginCompute(absl::Time now) {
  Add(computing_ns_, -absl::ToInt64Nanoseconds(now - arrival_));
  Add(computing_, 1);
}

void CallRecord::EndCompute(absl::Time now) {
  Add(computing_, -1);
  Add(computing_ns_, absl::ToInt64Nanoseconds(now - arrival_));
}

void CallRecord::NonFiniteOutput() { monitor_.metrics().work().NonFiniteOutput(); }

void CallRecord::WriteWaited(absl::Duration duration) {
  monitor_.metrics().work().StreamWriteWaited(duration);
}

void CallRecord::Finish(const absl::Status& status) {
  if (!finished_.exchange(true)) monitor_.End(*this, status);
}

}  // namespace attune
