// The engine without a server around it: token ids in, vectors out.
#ifndef ATTUNE_TESTS_BENCH_ENCODER_RUNNER_H_
#define ATTUNE_TESTS_BENCH_ENCODER_RUNNER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "engine/model/encoder.h"
#include "engine/ops/linear.h"
#include "engine/ops/op_context.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"
#include "tests/bench/thread_team.h"
#include "tests/bench/workload.h"

namespace attune::bench {

struct RunnerOptions {
  // A model folder; empty: random weights of `shape`.
  std::string model;
  std::string shape = "minilm";  // or "base": BERT-base, or "tiny": one small layer
  LinearOptions linear;          // precision and kernels
  int threads = 1;
};

// What a pass computes. A pass of either kind leaves its result in memory of the caller's.
enum class Output {
  kTokenVectors,  // the last hidden state [pass.tokens, hidden]
  kTextVectors,   // pooled as the model asks (random weights: mean, normalised) [pass.texts,
                  // dimension]
};

// One encoder, and for each thread what a server's worker has. Thread-compatible.
class EncoderRunner {
 public:
  // Loads or makes the weights and packs them. Errors as Engine::Load; kInvalidArgument for an
  // unknown shape or a number of threads that the machine does not have, kUnimplemented for a
  // precision or kernels that this CPU cannot run.
  static absl::StatusOr<std::unique_ptr<EncoderRunner>> Create(const RunnerOptions& options);

  // Runs every forward of `pass` once, each on the next thread that is free; a single one on all of
  // them, if it has work for them. Returns the seconds it took. dst as Output says. Errors as
  // Encoder::Forward.
  absl::StatusOr<double> Run(const Pass& pass, Output output, MatrixView dst);

  // The shape of Run's result.
  Matrix MakeResult(const Pass& pass, Output output) const;

  // Billions of operations per second that all threads together reach in registers, measured now;
  // nullopt if the CPU has no instruction of this type.
  std::optional<double> PeakGops(Precision precision);

  const ModelConfig& config() const { return encoder_->config(); }
  // The matrix kernels that run, as Encoder::kernel_name.
  std::string kernel_name() const { return encoder_->kernel_name(); }
  const RunnerOptions& options() const { return options_; }

 private:
  struct Worker {
    explicit Worker(const Encoder& encoder) : workspace(encoder.config(), encoder.precision()) {}
    OpContext context;
    EncoderWorkspace workspace;
  };

  EncoderRunner(const RunnerOptions& options, Engine::PoolingPlan pooling,
                std::unique_ptr<const Encoder> encoder, std::unique_ptr<ThreadTeam> team);
  absl::Status RunForward(Worker& worker, const Pass::Forward& forward, Output output,
                          MatrixView dst, EncoderTeam* team) const;

  const RunnerOptions options_;
  const Engine::PoolingPlan pooling_;
  const std::unique_ptr<const Encoder> encoder_;
  const std::unique_ptr<ThreadTeam> team_;
  std::vector<std::unique_ptr<Worker>> workers_;  // each made and used by its own thread
};

}  // namespace attune::bench

#endif  // ATTUNE_TESTS_BENCH_ENCODER_RUNNER_H_
