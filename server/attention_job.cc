#include "server/attention_job.h"

#include <utility>

#include "absl/time/clock.h"
#include "engine/base/status_macros.h"

namespace attune {

AttentionJob::AttentionJob(std::shared_ptr<Call> call, AttentionReply reply, bool want_embedding,
                           ByteBudget::Reservation bytes, Done done)
    : Job(std::move(call)),
      reply_(std::move(reply)),
      want_embedding_(want_embedding),
      bytes_(std::move(bytes)),
      done_(std::move(done)) {}

void AttentionJob::RunAlone(Session& session) {
  absl::Status status = Run(session);
  if (status.ok()) {
    done_(std::move(reply_));
  } else {
    Fail(0, std::move(status));
  }
}

absl::Status AttentionJob::Run(Session& session) {
  Batch batch;
  batch.Append(reply_.encoding.ids, reply_.encoding.type_ids);
  AttentionCapture capture(reply_.layers, reply_.heads, reply_.encoding.size());
  Encoder::ForwardOptions options;
  options.tap = &capture;
  options.should_stop = [this] { return !call().CheckWanted(absl::Now()).ok(); };
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden, session.Forward(batch, options));

  ATTUNE_ASSIGN_OR_RETURN(reply_.data, capture.TakeBytes());
  if (!want_embedding_) return absl::OkStatus();
  const Engine::PoolingPlan plan = session.engine().default_pooling();
  reply_.embedding.resize(static_cast<size_t>(plan.dimension(hidden.cols)));
  return PoolText(plan, hidden, absl::MakeSpan(reply_.embedding));
}

void AttentionJob::Fail(int64_t /*index*/, absl::Status status) {
  const absl::Status wanted = call().CheckWanted(absl::Now());
  done_(wanted.ok() ? status : wanted);
}

}  // namespace attune
