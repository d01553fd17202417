// Upper bounds of histogram buckets.
#ifndef ATTUNE_SERVER_METRICS_BUCKETS_H_
#define ATTUNE_SERVER_METRICS_BUCKETS_H_

#include <vector>

namespace attune {

// 1, 2, 5 x 10^k from a millisecond to a minute, in seconds.
inline std::vector<double> DurationBuckets() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 60};
}

// `first`, and each bound `factor` times the last, up to `last`.
inline std::vector<double> GrowingBuckets(double first, double factor, double last) {
  std::vector<double> bounds;
  for (double bound = first; bound <= last; bound *= factor) bounds.push_back(bound);
  return bounds;
}

// Powers of four from 256 bytes to 64 MiB.
inline std::vector<double> ByteBuckets() { return GrowingBuckets(256, 4, 64 << 20); }

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_BUCKETS_H_
