// Loads a running server with everything clients do, checks every answer, and watches the server's
// memory, threads and descriptors. Exit code 0: no fault, every call ended once.

#include <grpcpp/create_channel.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/soak/memory_trend.h"
#include "tests/soak/mixed_load.h"

namespace attune::testing {
namespace {

struct Options {
  std::string server = "127.0.0.1:50051";
  int server_pid = 0;
  int minutes = 20;
  int clients = 8;
  int texts = 500;
  uint64_t seed = 1;
};

// The process's sizes, about a thousand over the whole run.
class SizeRecorder {
 public:
  SizeRecorder(int pid, absl::Duration run) : pid_(pid), period_(run / 1000) {
    if (pid_ > 0) thread_ = std::thread([this] { Record(); });
  }
  std::vector<ProcessSize> Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return std::move(sizes_);
  }

 private:
  void Record() {
    while (!stopping_) {
      const absl::StatusOr<ProcessSize> size = ReadProcessSize(pid_);
      if (!size.ok()) return;
      sizes_.push_back(*size);
      absl::SleepFor(period_);
    }
  }

  const int pid_;
  const absl::Duration period_;
  std::atomic<bool> stopping_{false};
  std::vector<ProcessSize> sizes_;
  std::thread thread_;
};

// Of the second half: by then caches and pools are as large as the load makes them.
nlohmann::json DescribeSizes(const std::vector<ProcessSize>& sizes, uint64_t calls) {
  if (sizes.empty()) return nullptr;
  std::vector<double> resident;
  for (size_t i = sizes.size() / 2; i < sizes.size(); ++i) {
    resident.push_back(static_cast<double>(sizes[i].resident_bytes));
  }
  const double growth = Slope(resident) * static_cast<double>(resident.size());
  const double calls_in_half = static_cast<double>(calls) / 2;
  const ProcessSize& middle = sizes[sizes.size() / 2];
  const ProcessSize& last = sizes.back();
  return {{"resident_bytes_at_half", middle.resident_bytes},
          {"resident_bytes_at_end", last.resident_bytes},
          {"growth_bytes_per_100000_calls", growth / calls_in_half * 1e5},
          {"threads_at_half", middle.threads},
          {"threads_at_end", last.threads},
          {"descriptors_at_half", middle.descriptors},
          {"descriptors_at_end", last.descriptors}};
}

nlohmann::json DescribeTally(const Tally& tally) {
  nlohmann::json json = {{"started", tally.started}, {"ended", tally.calls_ended()}};
  for (int i = 0; i < kEndings; ++i) {
    const auto ending = static_cast<Ending>(i);
    json[std::string(EndingName(ending))] = tally.of(ending);
  }
  if (!tally.first_fault.empty()) json["first_fault"] = tally.first_fault;
  return json;
}

int Soak(const Options& options) {
  const auto channel = grpc::CreateChannel(options.server, grpc::InsecureChannelCredentials());
  const auto stub = v1::EncoderService::NewStub(channel);
  const absl::StatusOr<KnownTexts> texts = KnownTexts::Ask(*stub, options.texts);
  if (!texts.ok()) {
    std::fprintf(stderr, "soak: %s\n", texts.status().ToString().c_str());
    return 1;
  }
  const absl::Duration run = absl::Minutes(options.minutes);
  SizeRecorder recorder(options.server_pid, run);
  LoadPlan plan;
  plan.clients = options.clients;
  plan.until = absl::Now() + run;
  plan.seed = options.seed;
  const Tally tally = RunMixedLoad(channel, *texts, plan);
  const nlohmann::json report = {{"calls", DescribeTally(tally)},
                                 {"server", DescribeSizes(recorder.Stop(), tally.started)}};
  std::puts(report.dump(2).c_str());
  return tally.faults() == 0 && tally.calls_ended() == tally.started ? 0 : 1;
}

}  // namespace
}  // namespace attune::testing

int main(int argc, char** argv) {
  attune::testing::Options options;
  CLI::App app(
      "Sends a running attune-server requests good and bad, cancels, streams and attention maps,\n"
      "checks every answer bit for bit, and reports how calls ended and how the server grew.");
  app.add_option("--server", options.server, "HOST:PORT")->capture_default_str();
  app.add_option("--server-pid", options.server_pid, "Watch the size of this process, the server");
  app.add_option("--minutes", options.minutes)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--clients", options.clients)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--texts", options.texts, "How many different texts")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return attune::testing::Soak(options);
}
