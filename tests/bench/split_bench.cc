// What a second thread gains for one text: the latency of a forward pass alone and with helpers, in
// turns in one run, since clocks and neighbours change. Random weights at the default model's
// sizes. Usage: split_bench [helpers]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/check.h"
#include "engine/base/mutex.h"
#include "engine/model/batch.h"
#include "engine/model/encoder.h"
#include "engine/ops/op_context.h"
#include "tests/support/numeric.h"
#include "tests/support/random_weights.h"

namespace attune {
namespace {

// Threads that wait for teams, as a server's idle workers do.
class Helpers {
 public:
  Helpers(const Encoder& encoder, int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, &encoder] { Work(encoder); });
  }
  ~Helpers() {
    Call(nullptr, true);
    for (std::thread& thread : threads_) thread.join();
  }
  // Wakes the helpers, and returns at once.
  void Invite(const std::shared_ptr<EncoderTeam>& team) { Call(team, false); }

 private:
  void Call(std::shared_ptr<EncoderTeam> team, bool end) {
    MutexLock lock(mu_);
    team_ = std::move(team);
    ++calls_;
    end_ = end;
    called_.NotifyAll();
  }
  void Work(const Encoder& encoder) {
    OpContext context;
    EncoderWorkspace workspace(encoder.config(), encoder.precision());
    int64_t answered = 0;
    for (;;) {
      std::shared_ptr<EncoderTeam> team;
      {
        MutexLock lock(mu_);
        while (calls_ == answered) called_.Wait(mu_);
        answered = calls_;
        if (end_) return;
        team = team_;
      }
      Encoder::Help(context, workspace, *team, [] { return false; });
    }
  }

  Mutex mu_;
  CondVar called_;
  std::shared_ptr<EncoderTeam> team_ ABSL_GUARDED_BY(mu_);
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  bool end_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

template <typename Run>
double Microseconds(Run run) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  run();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

struct Plan {
  int helpers;
  int64_t layers;
  int passes;
  std::vector<int64_t> lengths;
};

void Run(Precision precision, const Plan& plan) {
  ModelConfig config = testing::MiniLmConfig();
  config.layers = plan.layers;
  const auto created =
      Encoder::Create(config, testing::RandomWeights(config), {.precision = precision});
  if (absl::IsUnimplemented(created.status())) return;
  ATTUNE_CHECK(created.ok());
  const Encoder& encoder = **created;
  OpContext context;
  EncoderWorkspace workspace(config, precision);
  Helpers helpers(encoder, plan.helpers);
  const auto forward = [&](const Batch& batch, EncoderTeam* team) {
    ATTUNE_CHECK(encoder.Forward(context, batch, workspace, {.team = team}).ok());
  };
  std::printf("one text, %s, %s, %d helper(s); median us (10 %% .. 90 %%) of %d passes\n",
              std::string(PrecisionName(precision)).c_str(), encoder.kernel_name().c_str(),
              plan.helpers, plan.passes);
  for (const int64_t seq : plan.lengths) {
    Batch batch;
    batch.Append(std::vector<int32_t>(static_cast<size_t>(seq), 7), {});
    std::vector<double> alone;
    std::vector<double> shared;
    for (int pass = 0; pass < plan.passes; ++pass) {
      alone.push_back(Microseconds([&] { forward(batch, nullptr); }));
      shared.push_back(Microseconds([&] {
        const auto team = std::make_shared<EncoderTeam>(plan.helpers);
        helpers.Invite(team);
        forward(batch, team.get());
      }));
    }
    std::printf("%4d tokens | alone %8.0f (%.0f .. %.0f) | shared %8.0f (%.0f .. %.0f) | %.2f\n",
                static_cast<int>(seq), Percentile(alone, 0.5), Percentile(alone, 0.1),
                Percentile(alone, 0.9), Percentile(shared, 0.5), Percentile(shared, 0.1),
                Percentile(shared, 0.9), Percentile(shared, 0.5) / Percentile(alone, 0.5));
  }
}

void RunAll(const Plan& plan) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    Run(precision, plan);
  }
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  attune::RunAll(smoke ? attune::Plan{.helpers = 1, .layers = 1, .passes = 1, .lengths = {16}}
                       : attune::Plan{.helpers = argc > 1 ? std::atoi(argv[1]) : 1,
                                      .layers = 6,
                                      .passes = 40,
                                      .lengths = {8, 16, 24, 32, 64, 128, 512}});
  return 0;
}
