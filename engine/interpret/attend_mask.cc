#include "engine/interpret/attend_mask.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attune {
namespace {

struct KeyRange {
  int64_t begin;
  int64_t end;
};

KeyRange RangeOf(const AttendMask& mask, int64_t query, int64_t seq) {
  switch (mask.kind) {
    case AttendMask::Kind::kCausal:
      return {0, query + 1};
    case AttendMask::Kind::kWindow:
      return {std::max<int64_t>(0, query - mask.left), std::min(seq, query + mask.right + 1)};
    case AttendMask::Kind::kFull:
    case AttendMask::Kind::kGraph:
      break;
  }
  return {0, seq};
}

}  // namespace

VisibleKeys::VisibleKeys(const AttendMask& mask, int64_t seq)
    : begin_(static_cast<size_t>(seq)), end_(static_cast<size_t>(seq)) {
  if (mask.kind != AttendMask::Kind::kGraph) {
    keys_.resize(static_cast<size_t>(seq));
    std::iota(keys_.begin(), keys_.end(), int64_t{0});
    for (size_t query = 0; query < begin_.size(); ++query) {
      const KeyRange range = RangeOf(mask, static_cast<int64_t>(query), seq);
      begin_[query] = range.begin;
      end_[query] = range.end;
    }
    return;
  }
  std::vector<std::pair<int64_t, int64_t>> edges = mask.edges;
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  keys_.reserve(edges.size());
  auto edge = edges.begin();
  for (size_t query = 0; query < begin_.size(); ++query) {
    begin_[query] = static_cast<int64_t>(keys_.size());
    for (; edge != edges.end() && edge->first == static_cast<int64_t>(query); ++edge) {
      keys_.push_back(edge->second);
    }
    end_[query] = static_cast<int64_t>(keys_.size());
  }
}

absl::Span<const int64_t> VisibleKeys::Of(int64_t query) const {
  const auto row = static_cast<size_t>(query);
  const auto begin = static_cast<size_t>(begin_[row]);
  return absl::MakeConstSpan(keys_).subspan(begin, static_cast<size_t>(end_[row]) - begin);
}

}  // namespace attune
