#include "engine/text/double_array_trie.h"

#include <algorithm>

#include "engine/base/check.h"

namespace attune {
namespace {

using Key = std::pair<absl::string_view, int32_t>;

constexpr uint32_t kNone = 0xFFFFFFFF;
constexpr uint32_t kBlock = 256;  // all children of a node lie in one aligned block

// Free places tried for a node's children before a new block is opened for them. Nodes with one
// child, which are most, fit at the first.
constexpr int kTries = 64;

}  // namespace

// Places nodes from the root down. Free places form a ring through prev_ and next_.
class DoubleArrayTrie::Builder {
 public:
  Builder(const std::vector<Key>& keys, DoubleArrayTrie* trie) : keys_(keys), trie_(*trie) {}

  void Build() {
    AddBlock();
    Take(kRoot);
    trie_.nodes_[kRoot].parent = kNoParent;
    std::vector<Pending> pending = {{kRoot, 0, keys_.size(), 0}};
    while (!pending.empty()) {
      const Pending node = pending.back();
      pending.pop_back();
      PlaceChildren(node, &pending);
    }
  }

 private:
  // A placed node whose children are not; keys [first, last) pass through it at `depth`.
  struct Pending {
    NodeIndex node;
    size_t first;
    size_t last;
    size_t depth;
  };

  unsigned char Label(size_t key, size_t depth) const {
    return static_cast<unsigned char>(keys_[key].first[depth]);
  }

  void PlaceChildren(Pending at, std::vector<Pending>* pending) {
    if (keys_[at.first].first.size() == at.depth) {
      trie_.nodes_[at.node].base_and_flag |= kHasValue;
      trie_.values_[at.node] = keys_[at.first].second;
      if (++at.first == at.last) return;
    }
    labels_.clear();
    starts_.clear();
    for (size_t key = at.first; key < at.last; ++key) {
      if (!labels_.empty() && labels_.back() == Label(key, at.depth)) continue;
      labels_.push_back(Label(key, at.depth));
      starts_.push_back(key);
    }
    const uint32_t base = FindBase();
    trie_.nodes_[at.node].base_and_flag |= base;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const NodeIndex child = base ^ labels_[i];
      Take(child);
      trie_.nodes_[child].parent = at.node;
      const size_t last = i + 1 < starts_.size() ? starts_[i + 1] : at.last;
      pending->push_back({child, starts_[i], last, at.depth + 1});
    }
  }

  // A base that puts every child on a free place.
  uint32_t FindBase() {
    NodeIndex candidate = free_head_;
    for (int i = 0; i < kTries && candidate != kNone; ++i) {
      const uint32_t base = candidate ^ labels_[0];
      const bool fits = std::all_of(labels_.begin(), labels_.end(), [this, base](uint32_t label) {
        return trie_.nodes_[base ^ label].parent == kFree;
      });
      if (fits) return base;
      candidate = next_[candidate] == free_head_ ? kNone : next_[candidate];
    }
    return AddBlock();
  }

  // Appends a block of free places and returns its first.
  NodeIndex AddBlock() {
    const auto begin = static_cast<NodeIndex>(trie_.nodes_.size());
    ATTUNE_CHECK(begin < kBaseMask - kBlock);
    trie_.nodes_.resize(begin + kBlock);
    trie_.values_.resize(begin + kBlock, -1);
    prev_.resize(begin + kBlock);
    next_.resize(begin + kBlock);
    for (NodeIndex place = begin; place < begin + kBlock; ++place) AppendFree(place);
    return begin;
  }

  void AppendFree(NodeIndex place) {
    if (free_head_ == kNone) {
      free_head_ = prev_[place] = next_[place] = place;
      return;
    }
    const NodeIndex tail = prev_[free_head_];
    next_[tail] = place;
    prev_[place] = tail;
    next_[place] = free_head_;
    prev_[free_head_] = place;
  }

  void Take(NodeIndex place) {
    if (next_[place] == place) {
      free_head_ = kNone;
      return;
    }
    next_[prev_[place]] = next_[place];
    prev_[next_[place]] = prev_[place];
    if (free_head_ == place) free_head_ = next_[place];
  }

  const std::vector<Key>& keys_;
  DoubleArrayTrie& trie_;
  NodeIndex free_head_ = kNone;
  std::vector<NodeIndex> prev_;
  std::vector<NodeIndex> next_;
  std::vector<unsigned char> labels_;  // of the node being placed
  std::vector<size_t> starts_;         // the first key below each of them
};

DoubleArrayTrie::DoubleArrayTrie(std::vector<Key> keys) {
  keys.erase(
      std::remove_if(keys.begin(), keys.end(), [](const Key& key) { return key.first.empty(); }),
      keys.end());
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Key& a, const Key& b) { return a.first < b.first; });
  // Of equal keys, keep the last.
  const auto same = [](const Key& a, const Key& b) { return a.first == b.first; };
  keys.erase(keys.begin(), std::unique(keys.rbegin(), keys.rend(), same).base());
  if (keys.empty()) {
    nodes_.resize(kBlock);
    values_.resize(kBlock, -1);
    return;
  }
  Builder(keys, this).Build();
}

std::optional<DoubleArrayTrie::NodeIndex> DoubleArrayTrie::Find(absl::string_view path) const {
  NodeIndex node = kRoot;
  for (const char byte : path) {
    const NodeIndex child =
        (nodes_[node].base_and_flag & kBaseMask) ^ static_cast<unsigned char>(byte);
    if (nodes_[child].parent != node) return std::nullopt;
    node = child;
  }
  return node;
}

}  // namespace attune
