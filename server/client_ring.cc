#include "server/client_ring.h"

#include <iterator>
#include <utility>

namespace attune {

ClientRing::Requests::iterator ClientRing::Push(WaitingRequest request) {
  // What allocates comes first.
  Requests waiting;
  waiting.push_back(std::move(request));
  const Turns::iterator client = Meet(waiting.front().call().client());
  tokens_ += waiting.front().tokens;
  client->tokens += waiting.front().tokens;
  client->requests.splice(client->requests.end(), waiting);
  return std::prev(client->requests.end());
}

ClientRing::Turns::iterator ClientRing::Meet(const std::string& name) {
  const auto known = clients_.find(name);
  if (known != clients_.end()) return known->second;
  Turns made(1);
  const auto client = made.begin();
  client->name = name;
  clients_.emplace(client->name, client);
  turns_.splice(turns_.end(), made);
  return client;
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
  Requests last;
  Move(client, front, last);
  return std::move(last.front().items.back());
}

void ClientRing::MoveTo(Requests& removed, Requests::iterator request) {
  Move(clients_.find(request->call().client())->second, request, removed);
}

int64_t ClientRing::client_tokens(absl::string_view client) const {
  const auto known = clients_.find(client);
  return known == clients_.end() ? 0 : known->second->tokens;
}

void ClientRing::Move(Turns::iterator client, Requests::iterator request, Requests& removed) {
  tokens_ -= request->tokens;
  client->tokens -= request->tokens;
  removed.splice(removed.end(), client->requests, request);
  if (client->requests.empty()) {
    clients_.erase(client->name);
    turns_.erase(client);
  }
}

}  // namespace attune
