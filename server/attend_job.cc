#include "server/attend_job.h"

#include <utility>

#include "engine/base/clock.h"

namespace attune {

AttendJob::AttendJob(std::shared_ptr<Call> call, std::shared_ptr<const AttendInput> input,
                     Done done)
    : Job(std::move(call)), input_(std::move(input)), done_(std::move(done)) {}

void AttendJob::RunAlone(Session& /*session*/) {
  absl::StatusOr<AttendResult> result =
      Attend(*input_, [this] { return !call().CheckWanted(SteadyNow()).ok(); });
  if (result.ok()) {
    done_(std::move(result));
  } else {
    Fail(0, result.status());
  }
}

void AttendJob::Fail(int64_t /*index*/, absl::Status status) {
  const absl::Status wanted = call().CheckWanted(SteadyNow());
  done_(wanted.ok() ? status : wanted);
}

}  // namespace attune
