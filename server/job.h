// What the workers are asked to do.
#ifndef ATTUNE_SERVER_JOB_H_
#define ATTUNE_SERVER_JOB_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/engine.h"
#include "server/call.h"

namespace attune {

// One request's work, made of items 0..n-1 which may run in different batches on different workers.
// For each item exactly one of RunAlone, Finish and Fail is called, on any thread; calls for
// different items may run at the same time.
class Job {
 public:
  explicit Job(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  virtual ~Job() = default;

  Call& call() { return *call_; }
  const Call& call() const { return *call_; }

  // Whether its request was let in before and part of the answer has been sent: the queue then
  // refuses it neither for being full nor for its deadline.
  virtual bool continues() const { return false; }

  // Items of a job that runs alone get a worker for themselves: RunAlone.
  virtual bool runs_alone() const = 0;
  // Does the whole work of the only item, and answers.
  virtual void RunAlone(Session& /*session*/) {}

  // Items of other jobs share forward passes: AppendTo puts item `index` into a batch (exactly the
  // tokens its WorkItem promised), Finish receives rows [.., hidden] of the last hidden state: all
  // of the item's, or only those that rows_wanted names.
  virtual TextRows rows_wanted() const { return TextRows::kAll; }
  virtual void AppendTo(int64_t /*index*/, Batch& /*batch*/) const {}
  virtual void Finish(int64_t /*index*/, ConstMatrixView /*hidden*/) {}

  // The item was refused, dropped or broken.
  virtual void Fail(int64_t index, absl::Status status) = 0;

 protected:
  // Counts `status` if it says that an output was not finite, which is the one fault that computing
  // has: kInternal.
  void RecordFault(const absl::Status& status) const {
    if (absl::IsInternal(status) && call_->record() != nullptr) call_->record()->NonFiniteOutput();
  }

 private:
  const std::shared_ptr<Call> call_;
};

struct WorkItem {
  std::shared_ptr<Job> job;
  int64_t index = 0;
  // What the item weighs in the queue and in a batch; 0 for work that gives way to any other.
  int64_t tokens = 0;
};

int64_t TotalTokens(const std::vector<WorkItem>& items);

// Runs `items`, which are one item that runs alone, or several that share a batch, and answers
// each. Nothing escapes: memory that runs out is RESOURCE_EXHAUSTED for these items only.
void RunItems(Session& session, std::vector<WorkItem> items);

}  // namespace attune

#endif  // ATTUNE_SERVER_JOB_H_
