#include "server/job.h"

#include <algorithm>
#include <new>

#include "absl/status/statusor.h"
#include "engine/base/clock.h"
#include "server/out_of_memory.h"

namespace attune {
namespace {

// A batch is worth finishing while anyone still waits for a part of it.
bool NobodyWaits(const std::vector<WorkItem>& items) {
  const absl::Time now = SteadyNow();
  for (const WorkItem& item : items) {
    if (item.job->call().CheckWanted(now).ok()) return false;
  }
  return true;
}

// The time of a worker as the calls it works for see it.
class ComputeSpan {
 public:
  explicit ComputeSpan(const std::vector<WorkItem>& items) {
    const absl::Time now = SteadyNow();
    for (const WorkItem& item : items) {
      CallRecord* record = item.job->call().record();
      if (record == nullptr) continue;
      // Texts of one call stand together, and are computed together.
      if (!records_.empty() && records_.back().get() == record) continue;
      record->BeginCompute(now);
      records_.push_back(item.job->call().shared_record());
    }
  }
  ComputeSpan(const ComputeSpan&) = delete;
  ComputeSpan& operator=(const ComputeSpan&) = delete;
  ~ComputeSpan() { End(); }

  void End() {
    const absl::Time now = SteadyNow();
    for (const std::shared_ptr<CallRecord>& record : records_) record->EndCompute(now);
    records_.clear();
  }

 private:
  std::vector<std::shared_ptr<CallRecord>> records_;  // a call may be over before its span
};

void FailAll(const std::vector<WorkItem>& items, const absl::Status& status) {
  const absl::Time now = SteadyNow();
  for (const WorkItem& item : items) {
    // A batch that stopped because nobody waited ends each call for that call's own reason.
    const absl::Status wanted = item.job->call().CheckWanted(now);
    item.job->Fail(item.index, wanted.ok() ? status : wanted);
  }
}

// What every item of the batch can do with.
TextRows RowsWanted(const std::vector<WorkItem>& items) {
  const TextRows rows = items.front().job->rows_wanted();
  const bool same = std::all_of(items.begin(), items.end(), [rows](const WorkItem& item) {
    return item.job->rows_wanted() == rows;
  });
  return same ? rows : TextRows::kAll;
}

void RunBatch(Session& session, const std::vector<WorkItem>& items) {
  Batch batch;
  for (const WorkItem& item : items) item.job->AppendTo(item.index, batch);

  Encoder::ForwardOptions options;
  options.should_stop = [&items] { return NobodyWaits(items); };
  options.rows = RowsWanted(items);
  ComputeSpan span(items);
  const absl::StatusOr<ConstMatrixView> hidden = session.Forward(batch, options);
  span.End();  // an answer tells it
  if (!hidden.ok()) {
    const bool no_memory = absl::IsResourceExhausted(hidden.status());
    return FailAll(items, no_memory ? OutOfMemory(hidden.status().message()) : hidden.status());
  }

  for (size_t i = 0; i < items.size(); ++i) {
    const auto text = static_cast<int64_t>(i);
    const bool all = options.rows == TextRows::kAll;
    items[i].job->Finish(items[i].index,
                         all ? hidden->Rows(batch.row_begin[i], batch.row_begin[i + 1])
                             : hidden->Rows(text, text + 1));
  }
}

}  // namespace

int64_t TotalTokens(const std::vector<WorkItem>& items) {
  int64_t tokens = 0;
  for (const WorkItem& item : items) tokens += item.tokens;
  return tokens;
}

void RunItems(Session& session, std::vector<WorkItem> items) {
  if (items.empty()) return;
  try {
    if (items.front().job->runs_alone()) {
      const ComputeSpan span(items);
      items.front().job->RunAlone(session);
    } else {
      RunBatch(session, items);
    }
  } catch (const std::bad_alloc&) {
    FailAll(items, OutOfMemory());
  }
}

}  // namespace attune
