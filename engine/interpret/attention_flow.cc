#include "engine/interpret/attention_flow.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/interpret/rollout.h"

namespace attune {
namespace {

// Capacities are of order 1 / seq. What is less than this is left by rounding.
constexpr double kLeastCapacity = 1e-12;

// The largest flow from one token above all layers to one below them, by blocking flows (Dinitz
// 1970). Nodes are the tokens between layers, numbered from the input up: node n is token n % seq
// on level n / seq, and layer l joins levels l and l + 1.
class MaxFlow {
 public:
  // `capacities` are borrowed.
  MaxFlow(int64_t seq, const std::vector<std::vector<double>>& capacities)
      : seq_(static_cast<size_t>(seq)),
        capacities_(capacities),
        distance_(seq_ * (capacities.size() + 1)),
        next_arc_(distance_.size()) {}

  double From(size_t top_token, size_t input_token) {
    source_ = capacities_.size() * seq_ + top_token;
    sink_ = input_token;
    residual_ = capacities_;
    const double most = std::min(Leaving(top_token), Arriving(input_token));
    double flow = 0;
    while (most - flow > kLeastCapacity && MeasureDistances()) {
      std::fill(next_arc_.begin(), next_arc_.end(), 0);
      while (true) {
        const double pushed = Push(source_, std::numeric_limits<double>::infinity());
        if (pushed <= kLeastCapacity) break;
        flow += pushed;
      }
    }
    return flow;
  }

 private:
  static constexpr int kUnreached = -1;

  double Leaving(size_t top_token) const {
    const auto row = capacities_.back().begin() + static_cast<std::ptrdiff_t>(top_token * seq_);
    return std::accumulate(row, row + static_cast<std::ptrdiff_t>(seq_), 0.0);
  }
  double Arriving(size_t input_token) const {
    double sum = 0;
    for (size_t token = 0; token < seq_; ++token) {
      sum += capacities_.front()[token * seq_ + input_token];
    }
    return sum;
  }

  // Arc a of a node leads to token a of the level below or, from seq on, back to token a - seq of
  // the level above, by as much as flows from there.
  struct Arc {
    size_t to;
    double* forward;  // what is left of the capacity that the arc shares with the one back
    double capacity;
    bool back;
    double left() const { return back ? capacity - *forward : *forward; }
    void Use(double flow) const { *forward += back ? flow : -flow; }
  };
  size_t FirstArc(size_t node) const { return node >= seq_ ? 0 : seq_; }
  size_t EndArc(size_t node) const { return node < capacities_.size() * seq_ ? 2 * seq_ : seq_; }
  Arc ArcOf(size_t node, size_t arc) {
    const size_t level = node / seq_;
    const size_t token = node % seq_;
    const bool back = arc >= seq_;
    const size_t layer = back ? level : level - 1;
    const size_t other = back ? arc - seq_ : arc;
    const size_t cell = back ? other * seq_ + token : token * seq_ + other;
    const size_t to = (back ? level + 1 : level - 1) * seq_ + other;
    return {to, &residual_[layer][cell], capacities_[layer][cell], back};
  }

  // How many arcs each node is from the source, along those that are not full. Whether the sink can
  // be reached.
  bool MeasureDistances() {
    std::fill(distance_.begin(), distance_.end(), kUnreached);
    distance_[source_] = 0;
    std::vector<size_t> queue = {source_};
    for (size_t i = 0; i < queue.size(); ++i) {
      const size_t node = queue[i];
      for (size_t a = FirstArc(node); a < EndArc(node); ++a) {
        const Arc arc = ArcOf(node, a);
        if (distance_[arc.to] != kUnreached || arc.left() <= kLeastCapacity) continue;
        distance_[arc.to] = distance_[node] + 1;
        queue.push_back(arc.to);
      }
    }
    return distance_[sink_] != kUnreached;
  }

  // Sends up to `limit` along one shortest path from `node`, and returns how much that was.
  double Push(size_t node, double limit) {
    if (node == sink_) return limit;
    for (size_t& a = next_arc_[node]; a < EndArc(node); ++a) {
      if (a < FirstArc(node)) continue;
      const Arc arc = ArcOf(node, a);
      if (distance_[arc.to] != distance_[node] + 1 || arc.left() <= kLeastCapacity) continue;
      const double pushed = Push(arc.to, std::min(limit, arc.left()));
      if (pushed <= kLeastCapacity) continue;
      arc.Use(pushed);
      return pushed;
    }
    return 0;
  }

  const size_t seq_;
  const std::vector<std::vector<double>>& capacities_;
  std::vector<std::vector<double>> residual_;
  std::vector<int> distance_;
  std::vector<size_t> next_arc_;  // the first that may still lead somewhere
  size_t source_ = 0;
  size_t sink_ = 0;
};

}  // namespace

void AttentionFlow::AddLayer(ConstMatrixView mean_weights) {
  const auto seq = static_cast<size_t>(seq_);
  std::vector<double>& capacity = capacities_.emplace_back(seq * seq, 0.0);
  if (mean_weights.rows == 0) {  // I
    for (size_t token = 0; token < seq; ++token) capacity[token * seq + token] = 1;
    return;
  }
  ATTUNE_CHECK(mean_weights.rows == seq_ && mean_weights.cols == seq_);
  const Matrix mixed = WithResidual(mean_weights);
  capacity.assign(mixed.span().begin(), mixed.span().end());
}

absl::StatusOr<Matrix> AttentionFlow::Flows(const std::function<bool()>& should_stop) const {
  ATTUNE_CHECK(!capacities_.empty());
  Matrix flows(seq_, seq_);
  MaxFlow max_flow(seq_, capacities_);
  for (int64_t row = 0; row < seq_; ++row) {
    if (should_stop && should_stop()) {
      return absl::CancelledError(absl::StrCat("stopped before row ", row, " of attention flow"));
    }
    std::vector<double> values(static_cast<size_t>(seq_));
    for (size_t column = 0; column < values.size(); ++column) {
      values[column] = max_flow.From(static_cast<size_t>(row), column);
    }
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    std::transform(values.begin(), values.end(), flows.row(row).begin(),
                   [sum](double value) { return static_cast<float>(value / sum); });
  }
  return flows;
}

}  // namespace attune
