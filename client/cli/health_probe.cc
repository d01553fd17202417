#include "client/cli/health_probe.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace attune::cli {

HealthProbe::HealthProbe(std::unique_ptr<Client> client)
    : client_(std::move(client)), thread_([this] { Probe(); }) {}

HealthProbe::~HealthProbe() {
  if (thread_.joinable()) Stop();
}

HealthReport HealthProbe::Stop() {
  stopping_ = true;
  thread_.join();
  std::sort(report_.latencies_ms.begin(), report_.latencies_ms.end());
  return std::move(report_);
}

void HealthProbe::Probe() {
  // At least once, however short the load is.
  do {
    const absl::Time asked = absl::Now();
    const absl::StatusOr<HealthState> state = client_->CheckHealth();
    if (state.ok() && *state == grpc::health::v1::HealthCheckResponse::SERVING) {
      report_.latencies_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - asked));
    } else {
      ++report_.failed;
    }
    absl::SleepFor(kPause);
  } while (!stopping_);
}

}  // namespace attune::cli
