#include "server/served_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

// What people notice as a delay but wait for; and what a handful of callers may have under way.
constexpr absl::Duration kQueueWait = absl::Milliseconds(500);
constexpr int64_t kShortQueueBatches = 16;

BatcherOptions QueueOptions(const ServerOptions& options) {
  BatcherOptions queue;
  queue.max_queue_tokens = options.max_queue_tokens;
  queue.max_queue_items = options.max_queue_items;
  queue.max_batch_tokens = options.max_batch_tokens;
  queue.max_batch_items = options.max_batch_items;
  queue.max_queue_wait = options.max_queue_wait;
  if (options.max_queue_wait == absl::ZeroDuration()) {
    queue.max_queue_wait = kQueueWait;
    queue.short_queue_tokens = kShortQueueBatches * options.max_batch_tokens;
  }
  return queue;
}

}  // namespace

// Whether anyone still holds the backend. Outlives the model where a call does.
class ServedModel::Users {
 public:
  void AllGone() {
    MutexLock lock(mu_);
    all_gone_ = true;
    changed_.NotifyAll();
  }

  void WaitUntilAllGone() {
    MutexLock lock(mu_);
    while (!all_gone_) changed_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool all_gone_ ABSL_GUARDED_BY(mu_) = false;
};

ServedModel::ServedModel(const ServerOptions& options)
    : options_(options), users_(std::make_shared<Users>()) {}

absl::StatusOr<std::unique_ptr<ServedModel>> ServedModel::Load(const ServerOptions& options,
                                                               const CpuBudget& cpus,
                                                               MemoryBudgets& budgets,
                                                               WorkMetrics* metrics) {
  const absl::Time start = SteadyNow();
  std::unique_ptr<ServedModel> model(new ServedModel(options));
  if (options.threads == 0) model->options_.threads = cpus.threads();
  ATTUNE_ASSIGN_OR_RETURN(const LoadedModel loaded, LoadModel(model->options_));
  model->engine_ = loaded.engine;
  ATTUNE_RETURN_IF_ERROR(model->ResolveLimits());
  ATTUNE_RETURN_IF_ERROR(model->WarmUp());

  const ServerOptions& resolved = model->options_;
  model->batcher_ = std::make_unique<Batcher>(QueueOptions(resolved), RealClock(), metrics);
  model->pipeline_ = std::make_unique<RequestPipeline>(resolved, loaded, *model->batcher_, budgets);
  ATTUNE_RETURN_IF_ERROR(model->pipeline_->Start());
  ATTUNE_RETURN_IF_ERROR(model->StartWorkers(cpus, metrics));
  model->load_time_ = SteadyNow() - start;
  return model;
}

std::shared_ptr<const Backend> ServedModel::GiveBackend() {
  return std::shared_ptr<const Backend>(new Backend{pipeline_.get(), &engine_->tokenizer()},
                                        [users = users_](const Backend* backend) {
                                          delete backend;
                                          users->AllGone();
                                        });
}

void ServedModel::WaitUntilUnused() { users_->WaitUntilAllGone(); }

WorkLoad ServedModel::load() const {
  const QueueCounts counts = batcher_->counts();
  return {counts.queued_items, counts.queued_tokens, pipeline_->pending_bytes(),
          pipeline_->attention_reserved_bytes(), options_.max_queue_tokens};
}

absl::Status ServedModel::StartWorkers(const CpuBudget& cpus, WorkMetrics* metrics) {
  WorkerPoolOptions workers;
  workers.threads = options_.threads;
  // Only a server that has all of its CPUs to itself pins: of two that share them, both would sit
  // on the first.
  if (options_.threads == static_cast<int>(cpus.affinity.size())) workers.cpus = cpus.affinity;
  workers.split_lone_requests = options_.split_lone_requests;
  workers.metrics = metrics;
  workers.reserve_tokens = std::max(options_.max_batch_tokens, options_.max_input_tokens);
  ATTUNE_ASSIGN_OR_RETURN(workers_, WorkerPool::Start(workers, engine_, *batcher_));
  return absl::OkStatus();
}

absl::Status ServedModel::ResolveLimits() {
  const int64_t positions = engine_->config().max_positions;
  const int64_t trained = engine_->folder().max_tokens;
  const int64_t special = engine_->tokenizer().special_tokens_per_text();
  if (options_.max_input_tokens == 0) options_.max_input_tokens = trained;
  if (options_.max_input_tokens < special || options_.max_input_tokens > positions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--max-input-tokens is ", options_.max_input_tokens, "; this model takes from ", special,
        " (its special tokens) to ", positions, " (its positions), and was trained for ", trained));
  }
  if (options_.max_input_tokens > trained) {
    Log(LogLevel::kWarning, "beyond_trained_length",
        "longer texts than the model was trained for are taken, and marked in the replies",
        {{"max_input_tokens", options_.max_input_tokens}, {"trained_max_tokens", trained}});
  }
  ChooseQueueLimits(options_);
  const int64_t largest = LargestRequestTokens(options_);
  if (options_.max_queue_tokens < largest) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-queue-tokens is ", options_.max_queue_tokens, "; one request may have ",
                     largest, " tokens, so raise it, or lower --max-texts or --max-input-tokens"));
  }
  return absl::OkStatus();
}

absl::Status ServedModel::WarmUp() const {
  Session session(engine_, options_.max_input_tokens);
  const Engine::PoolingPlan plan = engine_->default_pooling();
  for (const int64_t seq : {int64_t{1}, options_.max_input_tokens}) {
    Batch batch;
    batch.Append(std::vector<int32_t>(static_cast<size_t>(seq), 0), {});
    ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden, session.Forward(batch, {}));
    std::vector<float> vector(static_cast<size_t>(plan.dimension(hidden.cols)));
    const absl::Status pooled = PoolText(plan, hidden, absl::MakeSpan(vector));
    if (!pooled.ok()) {
      return absl::InternalError(absl::StrCat("the warm-up failed: ", pooled.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace attune
