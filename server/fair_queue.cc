#include "server/fair_queue.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace attune {
namespace {

constexpr size_t kWeightless = 2;

}  // namespace

FairQueue::FairQueue(int64_t quantum_tokens)
    : quantum_tokens_(quantum_tokens),
      classes_{Class{ClientRing(quantum_tokens), kInteractiveWeight},
               Class{ClientRing(quantum_tokens), kBulkWeight},
               Class{ClientRing(quantum_tokens), 0}} {}

size_t FairQueue::IndexOf(const std::vector<WorkItem>& items, WorkClass work_class) {
  if (TotalTokens(items) == 0) return kWeightless;
  return work_class == WorkClass::kInteractive ? 0 : 1;
}

void FairQueue::Push(std::vector<WorkItem> items, WorkClass work_class, absl::Time now) {
  WaitingRequest request;
  request.id = next_id_++;
  request.tokens = TotalTokens(items);
  request.since = now;
  const size_t index = IndexOf(items, work_class);
  request.items = std::move(items);
  const Place place{index, classes_[index].ring.Push(std::move(request))};
  absl::Cleanup undo = [&] {
    Forget(*place.request);
    ClientRing::Requests removed;
    classes_[index].ring.MoveTo(removed, place.request);
  };
  const WaitingRequest& pushed = *place.request;
  by_deadline_.emplace(std::pair(pushed.call().deadline(), pushed.id), place);
  by_call_.emplace(std::pair(&pushed.call(), pushed.id), place);
  std::move(undo).Cancel();
  if (index == kWeightless) return;
  tokens_ += pushed.tokens;
  items_ += pushed.items_left();
}

FairQueue::Class& FairQueue::FrontClass() {
  if (classes_[0].ring.empty() && classes_[1].ring.empty()) return classes_[kWeightless];
  for (;;) {
    Class& turn = classes_[turn_];
    if (turn.ring.empty()) {
      turn.credit = 0;
    } else {
      if (!std::exchange(in_turn_, true)) turn.credit += turn.weight * quantum_tokens_;
      if (turn.ring.Front()->first().tokens <= turn.credit) return turn;
    }
    turn_ = 1 - turn_;
    in_turn_ = false;
  }
}

const WorkItem& FairQueue::Front() { return FrontClass().ring.Front()->first(); }

FairQueue::Taken FairQueue::Pop() {
  Class& from = FrontClass();
  const auto front = from.ring.Front();
  const bool bulk = &from == &classes_[1];
  Taken taken{{}, bulk ? WorkClass::kBulk : WorkClass::kInteractive, front->since};
  if (front->items_left() == 1) Forget(*front);
  taken.item = from.ring.TakeFirst(front);
  if (&from != &classes_[kWeightless]) --items_;
  tokens_ -= taken.item.tokens;
  from.credit -= taken.item.tokens;
  return taken;
}

void FairQueue::Forget(const WaitingRequest& request) {
  by_deadline_.erase(std::pair(request.call().deadline(), request.id));
  by_call_.erase(std::pair(&request.call(), request.id));
}

ClientRing::Requests FairQueue::RemoveCall(const Call& call) {
  ClientRing::Requests removed;
  for (;;) {
    const auto first = by_call_.lower_bound(std::pair(&call, uint64_t{0}));
    if (first == by_call_.end() || first->first.first != &call) return removed;
    Remove(first->second, removed);
  }
}

ClientRing::Requests FairQueue::RemoveExpired(absl::Time now) {
  ClientRing::Requests removed;
  while (!by_deadline_.empty() && by_deadline_.begin()->first.first <= now) {
    Remove(by_deadline_.begin()->second, removed);
  }
  return removed;
}

// `place` by value, since the one in the maps is gone after Forget.
void FairQueue::Remove(Place place, ClientRing::Requests& removed) {
  Forget(*place.request);
  classes_[place.index].ring.MoveTo(removed, place.request);
  if (place.index == kWeightless) return;
  tokens_ -= removed.back().tokens;
  items_ -= removed.back().items_left();
}

int64_t FairQueue::TokensUntilTaken(WorkClass work_class, const Call& call, int64_t tokens) const {
  const bool bulk = work_class == WorkClass::kBulk;
  const Class& own = classes_[bulk ? 1 : 0];
  const Class& other = classes_[bulk ? 0 : 1];
  const int64_t waiting = own.ring.client_tokens(call.client());
  const int64_t of_client = waiting + tokens;
  const int64_t other_clients = own.ring.clients() - (waiting > 0 ? 1 : 0);
  // Each of them gets about as much as this one, and at most a turn more.
  const int64_t of_class = of_client + std::min(own.ring.tokens() - waiting,
                                                other_clients * (of_client + quantum_tokens_));
  const int64_t share = of_class * other.weight / own.weight + other.weight * quantum_tokens_;
  return of_class + std::min(other.ring.tokens(), share);
}

}  // namespace attune
