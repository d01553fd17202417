// A request's bytes, all the way: whatever protobuf takes of them is decoded, checked, run on a
// tiny model and encoded. Every call is answered once, with OK or with a code and a message of the
// contract. The first byte chooses the method.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "engine/base/check.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/encoder_methods.h"
#include "server/request_pipeline.h"
#include "server/worker_pool.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

// The server without its ports, once for all inputs.
class Backstage {
 public:
  Backstage() {
    SetLogLevel(LogLevel::kError);
    options_.model = model_.path();
    options_.precision = "f32";
    options_.threads = 1;
    options_.max_input_tokens = model_.options().max_positions;
    options_.max_queue_tokens = 65'536;
    // What one input can make the fuzzer hold.
    options_.max_attention_reply_bytes = options_.attention_budget_bytes = int64_t{16} << 20;
    absl::StatusOr<LoadedModel> loaded = LoadModel(options_);
    ATTUNE_CHECK(loaded.ok());
    loaded_ = *std::move(loaded);
    budgets_ = std::make_unique<MemoryBudgets>(options_);
    pipeline_ = std::make_unique<RequestPipeline>(options_, loaded_, batcher_, *budgets_);
    ATTUNE_CHECK(pipeline_->Start().ok());
    WorkerPoolOptions workers;
    workers.threads = 1;
    absl::StatusOr<std::unique_ptr<WorkerPool>> pool =
        WorkerPool::Start(workers, loaded_.engine, batcher_);
    ATTUNE_CHECK(pool.ok());
    workers_ = *std::move(pool);
  }

  Backend backend() const { return {pipeline_.get(), &loaded_.engine->tokenizer()}; }

 private:
  const testing::TinyModel model_;
  ServerOptions options_;
  LoadedModel loaded_;
  Batcher batcher_{BatcherOptions{}, RealClock()};
  std::unique_ptr<MemoryBudgets> budgets_;
  std::unique_ptr<RequestPipeline> pipeline_;
  std::unique_ptr<WorkerPool> workers_;
};

template <typename Request, typename Response>
void Run(const Backend& backend, const uint8_t* data, size_t size) {
  Request request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return;
  Response response;
  absl::Notification answered;
  absl::Status status;
  const auto call = std::make_shared<Call>(absl::Now() + absl::Seconds(60));
  RunMethod(backend, call, request, response, [&](const absl::Status& answer) {
    status = answer;
    answered.Notify();  // a second answer would abort here
  });
  answered.WaitForNotification();
  if (status.ok()) return;
  ATTUNE_CHECK(!status.message().empty());
  ATTUNE_CHECK(absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
               absl::IsResourceExhausted(status) || absl::IsUnimplemented(status));
}

void RunAs(uint8_t method, const uint8_t* data, size_t size) {
  // Never freed: it holds threads, which must not outlive the process's other statics.
  static const Backstage& backstage = *new Backstage();
  const Backend backend = backstage.backend();
  switch (method % 5) {
    case 0:
      return Run<v1::EncodeRequest, v1::EncodeResponse>(backend, data, size);
    case 1:
      return Run<v1::AttentionMapRequest, v1::AttentionMapResponse>(backend, data, size);
    case 2:
      return Run<v1::ExplainSimilarityRequest, v1::ExplainSimilarityResponse>(backend, data, size);
    case 3:
      return Run<v1::AttendRequest, v1::AttendResponse>(backend, data, size);
    default:
      return Run<v1::TokenizeRequest, v1::TokenizeResponse>(backend, data, size);
  }
}

}  // namespace
}  // namespace attune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) attune::RunAs(data[0], data + 1, size - 1);
  return 0;
}
