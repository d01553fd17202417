#include "server/client_ring.h"

#include <iterator>
#include <utility>

namespace attune {

ClientRing::Requests::iterator ClientRing::Push(WaitingRequest request) {
  const auto known = clients_.find(request.call().client());
  Turns::iterator client;
  if (known != clients_.end()) {
    client = known->second;
  } else {
    client = turns_.emplace(turns_.end());
    client->name = request.call().client();
    clients_.emplace(client->name, client);
  }
  tokens_ += request.tokens;
  client->tokens += request.tokens;
  client->requests.push_back(std::move(request));
  return std::prev(client->requests.end());
}

ClientRing::Requests::iterator ClientRing::Front() {
  for (;;) {
    Client& client = turns_.front();
    if (!std::exchange(client.in_turn, true)) client.credit += quantum_tokens_;
    if (client.requests.front().first().tokens <= client.credit) return client.requests.begin();
    client.in_turn = false;
    turns_.splice(turns_.end(), turns_, turns_.begin());
  }
}

WorkItem ClientRing::TakeFirst(Requests::iterator front) {
  const auto client = turns_.begin();
  const int64_t tokens = front->first().tokens;
  client->credit -= tokens;
  client->tokens -= tokens;
  front->tokens -= tokens;
  tokens_ -= tokens;
  if (front->items_left() > 1) return std::move(front->items[front->next++]);
  WaitingRequest last = Remove(client, front);
  return std::move(last.items.back());
}

WaitingRequest ClientRing::Erase(Requests::iterator request) {
  return Remove(Find(*request), request);
}

int64_t ClientRing::client_tokens(absl::string_view client) const {
  const auto known = clients_.find(client);
  return known == clients_.end() ? 0 : known->second->tokens;
}

ClientRing::Turns::iterator ClientRing::Find(const WaitingRequest& request) {
  return clients_.find(request.call().client())->second;
}

WaitingRequest ClientRing::Remove(Turns::iterator client, Requests::iterator request) {
  WaitingRequest removed = std::move(*request);
  tokens_ -= removed.tokens;
  client->tokens -= removed.tokens;
  client->requests.erase(request);
  if (client->requests.empty()) {
    clients_.erase(client->name);
    turns_.erase(client);
  }
  return removed;
}

}  // namespace attune
