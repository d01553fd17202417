#ifndef ATTUNE_SERVER_CLIENT_RING_H_
#define ATTUNE_SERVER_CLIENT_RING_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/job.h"

namespace attune {

// What is left of a request that waits: items of one call, first to last.
struct WaitingRequest {
  uint64_t id = 0;  // of its own
  std::vector<WorkItem> items;
  size_t next = 0;  // items before this one have been taken
  int64_t tokens = 0;
  absl::Time since;

  const Call& call() const { return items.back().job->call(); }
  const WorkItem& first() const { return items[next]; }
  int64_t items_left() const { return static_cast<int64_t>(items.size() - next); }
};

// Clients who take turns: deficit round robin (Shreedhar and Varghese 1996, section 3) in tokens. A
// turn gives a client `quantum` tokens of credit and lasts while they pay for its next item; what
// is left is kept for its next turn. A client's own requests run in order of arrival. So over time
// clients who have work get equally many tokens, however many requests they sent. Only clients with
// work are remembered. Thread-compatible.
class ClientRing {
 public:
  using Requests = std::list<WaitingRequest>;

  // REQUIRES: quantum_tokens > 0.
  explicit ClientRing(int64_t quantum_tokens) : quantum_tokens_(quantum_tokens) {}

  // Behind what its client has waiting. The place is valid until its last item is taken or it is
  // moved out. Where memory runs out, nothing has changed. REQUIRES: `request` has an item.
  Requests::iterator Push(WaitingRequest request);

  // The request whose first item is due. Takes time only for credit that clients need to afford an
  // item: its tokens / quantum turns of each. REQUIRES: !empty().
  Requests::iterator Front();
  // Takes that item, at its client's expense. REQUIRES: `front` is what Front returned last.
  WorkItem TakeFirst(Requests::iterator front);
  // Moves the whole request to the end of `removed`, out of its turn and at nobody's expense.
  // Allocates nothing.
  void MoveTo(Requests& removed, Requests::iterator request);

  bool empty() const { return turns_.empty(); }
  int64_t tokens() const { return tokens_; }
  int64_t clients() const { return static_cast<int64_t>(turns_.size()); }
  // 0 for a client that has nothing waiting.
  int64_t client_tokens(absl::string_view client) const;

 private:
  struct Client {
    std::string name;
    Requests requests;
    int64_t tokens = 0;
    int64_t credit = 0;
    bool in_turn = false;  // has had this turn's quantum
  };
  using Turns = std::list<Client>;

  // The client, which is remembered from here on.
  Turns::iterator Meet(const std::string& name);
  // Moves `request` of `client`, which is forgotten when nothing is left.
  void Move(Turns::iterator client, Requests::iterator request, Requests& removed);

  const int64_t quantum_tokens_;
  int64_t tokens_ = 0;
  Turns turns_;  // the first is having its turn
  // By name, which is the one in turns_.
  absl::flat_hash_map<absl::string_view, Turns::iterator> clients_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CLIENT_RING_H_
