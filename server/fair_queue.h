#ifndef ATTUNE_SERVER_FAIR_QUEUE_H_
#define ATTUNE_SERVER_FAIR_QUEUE_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "server/call.h"
#include "server/client_ring.h"
#include "server/job.h"

namespace attune {

// The requests that wait, and whose turn it is. Deficit round robin twice: the two classes of work
// share the workers' tokens 4 to 1 while both have any, and within a class its clients share them
// equally. Items that weigh nothing come when nothing else is left. What a call has waiting leaves
// in O(log n) when it is cancelled, and when its deadline has passed. Thread-compatible.
class FairQueue {
 public:
  // Of every 5 tokens taken while both classes wait.
  static constexpr int64_t kInteractiveWeight = 4;
  static constexpr int64_t kBulkWeight = 1;

  // `quantum_tokens` is the least turn: small ones mix clients finely. REQUIRES: > 0.
  explicit FairQueue(int64_t quantum_tokens);

  // Items of one call. Where memory runs out, nothing has changed. REQUIRES: there is one.
  void Push(std::vector<WorkItem> items, WorkClass work_class, absl::Time now);

  // The item to take next. REQUIRES: !empty().
  const WorkItem& Front();
  struct Taken {
    WorkItem item;
    WorkClass work_class = WorkClass::kInteractive;
    absl::Time since;
  };
  // Takes it. REQUIRES: !empty().
  Taken Pop();

  // Takes out what waits of `call`; of all calls whose deadline is not after `now`. Allocates
  // nothing.
  ClientRing::Requests RemoveCall(const Call& call);
  ClientRing::Requests RemoveExpired(absl::Time now);

  bool empty() const { return by_deadline_.empty(); }
  // Of the items that weigh something.
  int64_t tokens() const { return tokens_; }
  int64_t items() const { return items_; }

  // How many tokens will be taken, at most, until the last of `tokens` more of a client has been:
  // those of its own, and what other clients and the other class get meanwhile.
  int64_t TokensUntilTaken(WorkClass work_class, const Call& call, int64_t tokens) const;

 private:
  struct Class {
    ClientRing ring;
    int64_t weight;
    int64_t credit = 0;
  };
  // Where a request is.
  struct Place {
    size_t index = 0;  // into classes_
    ClientRing::Requests::iterator request;
  };

  static size_t IndexOf(const std::vector<WorkItem>& items, WorkClass work_class);
  Class& FrontClass();
  void Forget(const WaitingRequest& request);
  void Remove(Place place, ClientRing::Requests& removed);

  const int64_t quantum_tokens_;
  std::array<Class, 3> classes_;  // interactive, bulk, and what weighs nothing
  size_t turn_ = 0;               // 0 or 1: whose turn it is
  bool in_turn_ = false;          // it has had this turn's quantum
  uint64_t next_id_ = 0;
  int64_t tokens_ = 0;
  int64_t items_ = 0;
  absl::btree_map<std::pair<absl::Time, uint64_t>, Place> by_deadline_;
  absl::btree_map<std::pair<const Call*, uint64_t>, Place> by_call_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_FAIR_QUEUE_H_
