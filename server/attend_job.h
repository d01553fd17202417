#ifndef ATTUNE_SERVER_ATTEND_JOB_H_
#define ATTUNE_SERVER_ATTEND_JOB_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "server/job.h"

namespace attune {

// One Attend request: the mechanism over the caller's own vectors, on a worker like any other work.
class AttendJob final : public Job {
 public:
  using Done = std::function<void(absl::StatusOr<AttendResult>)>;

  AttendJob(std::shared_ptr<Call> call, std::shared_ptr<const AttendInput> input, Done done);

  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override;
  void Fail(int64_t index, absl::Status status) override;

 private:
  const std::shared_ptr<const AttendInput> input_;
  const Done done_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ATTEND_JOB_H_
