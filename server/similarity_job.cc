#include "server/similarity_job.h"

#include <utility>

#include "engine/base/clock.h"
#include "engine/base/status_macros.h"

namespace attune {

SimilarityJob::SimilarityJob(std::shared_ptr<Call> call, SimilarityReply reply, PoolingMode mode,
                             Done done)
    : Job(std::move(call)), reply_(std::move(reply)), mode_(mode), done_(std::move(done)) {}

void SimilarityJob::RunAlone(Session& session) {
  absl::Status status = Run(session);
  RecordFault(status);
  if (status.ok()) {
    done_(std::move(reply_));
  } else {
    Fail(0, std::move(status));
  }
}

absl::Status SimilarityJob::Run(Session& session) {
  Batch batch;
  batch.Append(reply_.first.ids, reply_.first.type_ids);
  batch.Append(reply_.second.ids, reply_.second.type_ids);
  Encoder::ForwardOptions options;
  options.should_stop = [this] { return !call().CheckWanted(SteadyNow()).ok(); };
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden, session.Forward(batch, options));
  const int64_t border = reply_.first.size();
  ATTUNE_ASSIGN_OR_RETURN(reply_.explanation, ExplainSimilarity(mode_, hidden.Rows(0, border),
                                                                hidden.Rows(border, hidden.rows)));
  return absl::OkStatus();
}

void SimilarityJob::Fail(int64_t /*index*/, absl::Status status) {
  const absl::Status wanted = call().CheckWanted(SteadyNow());
  done_(wanted.ok() ? status : wanted);
}

}  // namespace attune
