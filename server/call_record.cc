#include "server/call_record.h"

#include <utility>

#include "engine/base/clock.h"
#include "server/call_monitor.h"
#include "server/metrics/metrics.h"

namespace attune {

CallRecord::CallRecord(CallMonitor& monitor, CallOrigin origin)
    : monitor_(monitor),
      origin_(std::move(origin)),
      arrival_(SteadyNow()),
      tokenizing_(arrival_),
      queued_(arrival_),
      computing_(arrival_) {}

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
  costs.queued = absl::Nanoseconds(load(longest_queued_ns_));
  const absl::Time now = SteadyNow();
  costs.tokenizing = tokenizing_.Total(now);
  costs.computing = computing_.Total(now);
  return costs;
}

CallPhases CallRecord::phases(absl::Time now) const {
  return {tokenizing_.Extent(now), queued_.Extent(now), computing_.Extent(now)};
}

void CallRecord::AddInputs(int64_t texts, int64_t tokens) {
  Add(texts_, texts);
  Add(tokens_, tokens);
}

void CallRecord::Tokenized(const TimeRange& time, int64_t truncated_texts) {
  tokenizing_.Begin(time.start);
  tokenizing_.End(time.end);
  monitor_.metrics().work().Tokenized(time.end - time.start, truncated_texts);
}

void CallRecord::BeginQueue(int64_t texts, absl::Time now) { queued_.Begin(now, texts); }

void CallRecord::EndQueue(absl::Time since, absl::Time now) {
  queued_.End(now);
  const int64_t wait_ns = absl::ToInt64Nanoseconds(now - since);
  int64_t longest = longest_queued_ns_.load(std::memory_order_relaxed);
  while (wait_ns > longest &&
         !longest_queued_ns_.compare_exchange_weak(longest, wait_ns, std::memory_order_relaxed)) {
  }
}

void CallRecord::BeginCompute(absl::Time now) { computing_.Begin(now); }

void CallRecord::EndCompute(absl::Time now) { computing_.End(now); }

void CallRecord::NonFiniteOutput() { monitor_.metrics().work().NonFiniteOutput(); }

void CallRecord::WriteWaited(absl::Duration duration) {
  monitor_.metrics().work().StreamWriteWaited(duration);
}

void CallRecord::Finish(const absl::Status& status) {
  if (!finished_.exchange(true)) monitor_.End(*this, status);
}

}  // namespace attune
