#include "server/idle_workers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/call.h"
#include "server/job.h"

namespace attune {
namespace {

// After a pass that waited long for a helper. The next try may wait as long again, which over so
// many passes does not matter.
constexpr int kPassesAlone = 32;

}  // namespace

// Helping with one pass. No caller waits for it, so there is nobody to answer.
class IdleWorkers::HelpJob final : public Job {
 public:
  HelpJob(const Batcher& batcher, int helpers)
      : Job(std::make_shared<Call>(absl::InfiniteFuture())), batcher_(batcher), team_(helpers) {}

  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override {
    session.Help(team_, [this] { return batcher_.queued_tokens() > 0; });
  }
  void Fail(int64_t /*index*/, absl::Status /*status*/) override {}

  EncoderTeam& team() { return team_; }

 private:
  const Batcher& batcher_;
  EncoderTeam team_;
};

EncoderTeam* IdleWorkers::Invite(int most) {
  if (job_ != nullptr && job_->team().held_up()) passes_alone_ = kPassesAlone;
  job_.reset();
  if (passes_alone_ > 0) {
    --passes_alone_;
    return nullptr;
  }
  const int helpers = std::min(most, batcher_.idle_workers());
  if (helpers <= 0) return nullptr;
  auto job = std::make_shared<HelpJob>(batcher_, helpers);
  const WorkItem item = {job, 0, /*tokens=*/0};
  if (!batcher_.Add(std::vector<WorkItem>(static_cast<size_t>(helpers), item)).ok()) return nullptr;
  job_ = std::move(job);
  return &job_->team();
}

}  // namespace attune
