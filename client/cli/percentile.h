// Latency percentiles.
#ifndef ATTUNE_CLIENT_CLI_PERCENTILE_H_
#define ATTUNE_CLIENT_CLI_PERCENTILE_H_

#include "absl/types/span.h"

namespace attune::cli {

// The smallest value that at least `percent` (0 to 100) of the ascending `sorted` values do not
// exceed (nearest rank): always a value that was measured. 0 if there are none.
double Percentile(absl::Span<const double> sorted, double percent);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_PERCENTILE_H_
