#ifndef ATTUNE_SERVER_IDLE_WORKERS_H_
#define ATTUNE_SERVER_IDLE_WORKERS_H_

#include <memory>

#include "engine/engine.h"
#include "server/batcher.h"

namespace attune {

// Workers with nothing to do, as helpers of the one whose session owns this: they are called
// through the queue that they wait on, and leave as soon as a request waits there. Where other
// programs keep the helpers from running, they are called rarely.
// Thread-compatible.
class IdleWorkers final : public HelperSource {
 public:
  // `batcher` is borrowed.
  explicit IdleWorkers(Batcher& batcher) : batcher_(batcher) {}

  EncoderTeam* Invite(int most) override;

 private:
  class HelpJob;

  Batcher& batcher_;
  std::shared_ptr<HelpJob> job_;  // of the latest team
  int passes_alone_ = 0;          // for which nobody will be invited
};

}  // namespace attune

#endif  // ATTUNE_SERVER_IDLE_WORKERS_H_
