#ifndef ATTUNE_SERVER_ATTENTION_JOB_H_
#define ATTUNE_SERVER_ATTENTION_JOB_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/byte_budget.h"
#include "server/job.h"
#include "server/requests.h"

namespace attune {

// The forward pass of one AttentionMap request. It runs alone, so that the sink's matrices are
// those of one text.
class AttentionJob final : public Job {
 public:
  using Done = std::function<void(absl::StatusOr<AttentionReply>)>;

  // `reply` holds the encoding, and the layers and heads to keep, ascending. `bytes` are held until
  // the request has been answered.
  AttentionJob(std::shared_ptr<Call> call, AttentionReply reply, bool want_embedding,
               ByteBudget::Reservation bytes, Done done);

  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override;
  void Fail(int64_t index, absl::Status status) override;

  int64_t tokens() const { return reply_.encoding.size(); }

 private:
  absl::Status Run(Session& session);

  AttentionReply reply_;
  const bool want_embedding_;
  const ByteBudget::Reservation bytes_;
  const Done done_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ATTENTION_JOB_H_
