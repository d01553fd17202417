#include "server/attention_stream.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/status_macros.h"

namespace attune {

// One turn of a worker.
class AttentionStream::NextJob final : public Job {
 public:
  NextJob(std::shared_ptr<AttentionStream> stream, Done done)
      : Job(stream->call_), stream_(std::move(stream)), done_(std::move(done)) {}

  bool continues() const override { return true; }
  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override {
    absl::StatusOr<Part> part = stream_->Run(session);
    RecordFault(part.status());
    done_(std::move(part));
  }
  void Fail(int64_t /*index*/, absl::Status status) override { done_(std::move(status)); }

 private:
  const std::shared_ptr<AttentionStream> stream_;
  const Done done_;
};

AttentionStream::AttentionStream(std::shared_ptr<Call> call, AttentionReply header,
                                 AttentionWork work, const ModelConfig& model,
                                 ByteBudget::Reservation bytes, Batcher& batcher)
    : call_(std::move(call)),
      reply_(std::move(header)),
      work_(std::move(work)),
      model_(model),
      bytes_(std::move(bytes)),
      batcher_(batcher),
      batch_(ChangedText(reply_, work_)),
      mapper_(model, reply_.plan, ablation(),
              [this] { return !call_->CheckWanted(SteadyNow()).ok(); }) {}

void AttentionStream::Next(Done done) {
  const auto job = std::make_shared<NextJob>(shared_from_this(), done);
  absl::Status queued = batcher_.Add({{job, 0, reply_.encoding.size()}});
  if (!queued.ok()) done(std::move(queued));
}

absl::StatusOr<AttentionStream::Part> AttentionStream::Run(Session& session) {
  if (next_layer_ == 0) {
    ATTUNE_ASSIGN_OR_RETURN(hidden_, session.Embed(batch_));
  }
  const std::vector<int64_t>& chosen = reply_.plan.query.layers;
  const int64_t end = work_.want_embedding ? model_.layers : chosen.back() + 1;
  while (next_layer_ < end) {
    ATTUNE_RETURN_IF_ERROR(call_->CheckWanted(SteadyNow()));
    const int64_t layer = next_layer_++;
    ATTUNE_RETURN_IF_ERROR(session.RunLayer(batch_, layer, &mapper_, ablation(), hidden_));
    if (!std::binary_search(chosen.begin(), chosen.end(), layer)) continue;
    ATTUNE_ASSIGN_OR_RETURN(MapBytes maps, mapper_.TakeMaps());
    return Part{layer, std::move(maps)};
  }
  ATTUNE_RETURN_IF_ERROR(End(session));
  return Part();
}

absl::Status AttentionStream::End(Session& session) {
  ATTUNE_ASSIGN_OR_RETURN(reply_.result, mapper_.Finish());
  if (work_.want_embedding) {
    const Engine::PoolingPlan plan = session.engine().default_pooling();
    reply_.embedding.resize(static_cast<size_t>(plan.dimension(hidden_.cols())));
    ATTUNE_RETURN_IF_ERROR(PoolText(plan, hidden_.view(), absl::MakeSpan(reply_.embedding)));
  }
  hidden_ = Matrix();
  bytes_ = ByteBudget::Reservation();
  return absl::OkStatus();
}

}  // namespace attune
