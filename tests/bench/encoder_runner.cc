#include "tests/bench/encoder_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/mutex.h"
#include "engine/base/status_macros.h"
#include "engine/model/model_folder.h"
#include "engine/model/weights.h"
#include "tests/bench/peak.h"
#include "tests/support/random_weights.h"

namespace attune::bench {
namespace {

struct Model {
  ModelConfig config;
  ModelWeights weights;
  Engine::PoolingPlan pooling;
};

absl::StatusOr<Model> LoadModel(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const ModelFolder folder, OpenModelFolder(path));
  ATTUNE_ASSIGN_OR_RETURN(ModelWeights weights,
                          LoadWeights(folder.transformer_path, folder.config));
  return Model{folder.config, std::move(weights), {folder.pooling, folder.normalize}};
}

absl::StatusOr<ModelConfig> ConfigOfShape(const std::string& shape) {
  ModelConfig config = testing::MiniLmConfig();
  if (shape == "minilm") return config;
  if (shape == "base") {
    config.hidden = 768;
    config.layers = 12;
    config.ffn = 3072;
    return config;
  }
  if (shape == "tiny") {
    config.vocab = 100;
    config.hidden = 64;
    config.layers = 1;
    config.heads = 2;
    config.ffn = 128;
    return config;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("shape is \"", shape, "\"; must be minilm, base or tiny"));
}

absl::StatusOr<Model> MakeModel(const std::string& shape) {
  ATTUNE_ASSIGN_OR_RETURN(const ModelConfig config, ConfigOfShape(shape));
  return Model{config, testing::RandomWeights(config), {{PoolingMode::kMean}, true}};
}

// The first error that any thread met.
class SharedStatus {
 public:
  void Update(const absl::Status& status) {
    if (status.ok()) return;
    MutexLock lock(mu_);
    if (status_.ok()) status_ = status;
  }
  absl::Status Get() {
    MutexLock lock(mu_);
    return status_;
  }

 private:
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<EncoderRunner>> EncoderRunner::Create(const RunnerOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<ThreadTeam> team, ThreadTeam::Create(options.threads));
  ATTUNE_ASSIGN_OR_RETURN(
      Model model, options.model.empty() ? MakeModel(options.shape) : LoadModel(options.model));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<const Encoder> encoder,
                          Encoder::Create(model.config, std::move(model.weights), options.linear));
  return std::unique_ptr<EncoderRunner>(
      new EncoderRunner(options, std::move(model.pooling), std::move(encoder), std::move(team)));
}

EncoderRunner::EncoderRunner(const RunnerOptions& options, Engine::PoolingPlan pooling,
                             std::unique_ptr<const Encoder> encoder,
                             std::unique_ptr<ThreadTeam> team)
    : options_(options),
      pooling_(std::move(pooling)),
      encoder_(std::move(encoder)),
      team_(std::move(team)),
      workers_(static_cast<size_t>(options.threads)) {
  team_->Run([this](int thread) {
    workers_[static_cast<size_t>(thread)] = std::make_unique<Worker>(*encoder_);
  });
}

absl::StatusOr<double> EncoderRunner::Run(const Pass& pass, Output output, MatrixView dst) {
  std::atomic<size_t> next = 0;
  SharedStatus status;
  const auto begin = std::chrono::steady_clock::now();
  // With one forward for all threads the others help, as a server's idle workers do.
  const bool alone = pass.forwards.size() == 1;
  const int helpers = alone ? std::min(options_.threads - 1, Encoder::MostHelpers(pass.tokens)) : 0;
  EncoderTeam team(helpers);
  team_->Run([&](int thread) {
    Worker& worker = *workers_[static_cast<size_t>(thread)];
    if (0 < thread && thread <= helpers) {
      Encoder::Help(worker.context, worker.workspace, team, [] { return false; });
      return;
    }
    for (size_t i = next++; i < pass.forwards.size(); i = next++) {
      status.Update(
          RunForward(worker, pass.forwards[i], output, dst, helpers > 0 ? &team : nullptr));
    }
  });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  ATTUNE_RETURN_IF_ERROR(status.Get());
  return elapsed.count();
}

absl::Status EncoderRunner::RunForward(Worker& worker, const Pass::Forward& forward, Output output,
                                       MatrixView dst, EncoderTeam* team) const {
  ATTUNE_ASSIGN_OR_RETURN(
      const ConstMatrixView hidden,
      encoder_->Forward(worker.context, forward.batch, worker.workspace, {.team = team}));
  if (output == Output::kTokenVectors) {
    for (int64_t i = 0; i < hidden.rows; ++i) {
      std::copy_n(hidden.row(i).data(), hidden.cols, dst.row(forward.first_row + i).data());
    }
    return absl::OkStatus();
  }
  const std::vector<int64_t>& row_begin = forward.batch.row_begin;
  for (size_t i = 0; i + 1 < row_begin.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(PoolText(pooling_, hidden.Rows(row_begin[i], row_begin[i + 1]),
                                    dst.row(forward.first_text + static_cast<int64_t>(i))));
  }
  return absl::OkStatus();
}

Matrix EncoderRunner::MakeResult(const Pass& pass, Output output) const {
  if (output == Output::kTokenVectors) return Matrix(pass.tokens, config().hidden);
  return Matrix(pass.texts, pooling_.dimension(config().hidden));
}

std::optional<double> EncoderRunner::PeakGops(Precision precision) {
  std::vector<std::optional<double>> peaks(workers_.size());
  team_->Run([&](int thread) { peaks[static_cast<size_t>(thread)] = bench::PeakGops(precision); });
  double sum = 0;
  for (const std::optional<double>& peak : peaks) {
    if (!peak) return std::nullopt;
    sum += *peak;
  }
  return sum;
}

}  // namespace attune::bench
