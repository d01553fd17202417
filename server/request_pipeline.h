// The way of a request through the server: validate, admit, tokenise, queue, answer.
#ifndef ATTUNE_SERVER_REQUEST_PIPELINE_H_
#define ATTUNE_SERVER_REQUEST_PIPELINE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "server/attention_intake.h"
#include "server/attention_stream.h"
#include "server/batcher.h"
#include "server/byte_budget.h"
#include "server/call.h"
#include "server/memory_budgets.h"
#include "server/model_loader.h"
#include "server/requests.h"
#include "server/server_options.h"
#include "server/task_queue.h"
#include "server/text_intake.h"

namespace attune {

// Thread-safe. No method blocks: work that takes longer than a glance runs on a tokenizer thread or
// a worker. Each request is answered by exactly one call of its callback, on any thread, possibly
// before the method returns; what the request borrows must live until then, and the pipeline until
// the last answer.
class RequestPipeline {
 public:
  template <typename Reply>
  using Done = std::function<void(absl::StatusOr<Reply>)>;

  // `options` with every "choose" resolved; `batcher` is borrowed, and `budgets`, which outlive all
  // calls.
  RequestPipeline(const ServerOptions& options, const LoadedModel& model, Batcher& batcher,
                  MemoryBudgets& budgets);

  // Starts its threads, before the first call. kResourceExhausted if there are none to be had.
  absl::Status Start();

  // Holds `bytes` of the memory for messages until `call` is over. kResourceExhausted while others
  // hold too much; who needs more than there is for all gets all.
  absl::Status Hold(int64_t bytes, Call& call);

  void Encode(EncodeInput input, std::shared_ptr<Call> call, Done<EncodeReply> done);
  // One item of a stream: the only text of `input`. Errors name it "text".
  void EncodeStreamItem(EncodeInput input, std::shared_ptr<Call> call, Done<EncodeReply> done);
  // Whether this server can give what a stream's options ask for. `options` has no text yet.
  absl::Status CheckStreamOptions(const EncodeInput& options) const;
  // About the most bytes that the answer to a text of `text_bytes` bytes has.
  int64_t MostReplyBytes(const EncodeInput& options, int64_t text_bytes) const;
  void MapAttention(AttentionInput input, std::shared_ptr<Call> call, Done<AttentionReply> done);
  // The reply is a stream that has computed nothing yet.
  void OpenAttentionStream(AttentionInput input, std::shared_ptr<Call> call,
                           Done<std::shared_ptr<AttentionStream>> done);
  void ExplainSimilarity(SimilarityInput input, std::shared_ptr<Call> call,
                         Done<SimilarityReply> done);
  void Tokenize(TokenizeInput input, std::shared_ptr<Call> call, Done<TokenizeReply> done);
  void Attend(std::shared_ptr<const AttendInput> input, std::shared_ptr<Call> call,
              Done<AttendResult> done);
  const ModelInfo& model_info() const { return model_info_; }

  // Text that waits to be tokenised, and what attention maps in progress hold, in bytes.
  int64_t pending_bytes() const { return tokenizer_threads_.pending_bytes(); }
  int64_t attention_reserved_bytes() const { return budgets_.attention_maps.held_bytes(); }

 private:
  void EncodeAs(const TextFields& fields, EncodeInput input, std::shared_ptr<Call> call,
                Done<EncodeReply> done);
  // The tokens of each item, as the model will read them.
  absl::StatusOr<std::vector<Encoding>> ReadInput(const TextFields& fields,
                                                  const EncodeInput& input, const Call& call) const;
  // Checks `input`, reads its text where there is time for it, and plans what is to be computed:
  // start(input, reply, work) takes it on. Errors, its own included, are given to `fail`.
  using StartAttention =
      std::function<absl::Status(const AttentionInput&, AttentionReply, AttentionWork)>;
  void PlanAttention(AttentionInput input, std::shared_ptr<Call> call, StartAttention start,
                     std::function<void(absl::Status)> fail);
  absl::Status CheckAttentionText(const AttentionInput& input) const;
  absl::StatusOr<Encoding> ReadAttentionInput(const AttentionInput& input, const Call& call) const;
  absl::StatusOr<Encoding> ReadAttentionText(const AttentionInput& input, const Call& call) const;
  absl::StatusOr<Encoding> ReadSimilarityText(const TextFields& fields, absl::string_view text,
                                              const TokenizePolicy& policy, const Call& call) const;

  // Whether a reply of `bytes` bytes is within the limit; then holds what it takes, as Hold.
  absl::Status AdmitReply(int64_t bytes, Call& call);

  // Runs `begin` here if it stands for little text, else on a tokenizer thread. `fail` is given the
  // error that it comes to, or why it will not run.
  void RunByTextSize(int64_t text_bytes, std::function<absl::Status()> begin,
                     std::function<void(absl::Status)> fail);

  const ServerOptions options_;
  const std::shared_ptr<const Engine> engine_;
  const ModelInfo model_info_;
  Batcher& batcher_;
  const AttentionIntake attention_intake_;
  MemoryBudgets& budgets_;
  TaskQueue tokenizer_threads_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_REQUEST_PIPELINE_H_
