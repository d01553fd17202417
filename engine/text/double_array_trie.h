// A set of byte strings that finds the longest one a text begins with, in one memory access a byte.
#ifndef ATTUNE_ENGINE_TEXT_DOUBLE_ARRAY_TRIE_H_
#define ATTUNE_ENGINE_TEXT_DOUBLE_ARRAY_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace attune {

// Aoe's double-array trie ("An Efficient Digital Search Algorithm by Using a Double-Array
// Structure", IEEE TSE 1989): the child of node n by byte b is base(n) ^ b, if its parent is n.
// Immutable and thread-safe.
class DoubleArrayTrie {
 public:
  using NodeIndex = uint32_t;
  static constexpr NodeIndex kRoot = 0;

  // Keys and their values (not negative). Empty keys are left out; of equal keys the last wins.
  // Borrows the keys only during the call.
  explicit DoubleArrayTrie(std::vector<std::pair<absl::string_view, int32_t>> keys);

  struct Match {
    size_t length = 0;   // bytes of the longest key found; 0 if there is none
    int32_t value = -1;  // its value
  };

  // The longest key that is `path` (how `from` was reached) followed by a non-empty beginning of
  // `text`; `length` does not count `path`.
  Match LongestPrefix(absl::string_view text, NodeIndex from = kRoot) const {
    Match match;
    NodeIndex node = from;
    NodeIndex best = kRoot;
    for (size_t i = 0; i < text.size(); ++i) {
      const NodeIndex child =
          (nodes_[node].base_and_flag & kBaseMask) ^ static_cast<unsigned char>(text[i]);
      if (nodes_[child].parent != node) break;
      node = child;
      if ((nodes_[node].base_and_flag & kHasValue) != 0) {
        best = node;
        match.length = i + 1;
      }
    }
    if (match.length > 0) match.value = values_[best];
    return match;
  }

  // The node that `path` leads to, if some key begins with `path`.
  std::optional<NodeIndex> Find(absl::string_view path) const;

 private:
  struct Node {
    uint32_t base_and_flag = 0;
    NodeIndex parent = kFree;
  };
  class Builder;

  static constexpr NodeIndex kFree = 0xFFFFFFFF;      // the place holds no node
  static constexpr NodeIndex kNoParent = 0xFFFFFFFE;  // of the root
  static constexpr uint32_t kHasValue = 0x80000000;
  static constexpr uint32_t kBaseMask = 0x7FFFFFFF;

  std::vector<Node> nodes_;
  std::vector<int32_t> values_;  // by node; apart from nodes_ because only the last one is read
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_DOUBLE_ARRAY_TRIE_H_
