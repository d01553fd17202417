#ifndef ATTUNE_SERVER_GRPC_HEAD_STATISTICS_CALL_H_
#define ATTUNE_SERVER_GRPC_HEAD_STATISTICS_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attune/v1/attune.pb.h"
#include "engine/base/mutex.h"
#include "engine/interpret/head_aggregate.h"
#include "server/call.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/open_streams.h"
#include "server/request_pipeline.h"
#include "server/requests.h"

namespace attune {

// gRPC's side of one HeadStatistics call. One text after the other: the next is read when the last
// has been added, so that a stream of any length holds one text and the sums. Thread-safe.
class HeadStatisticsCall final : public grpc::ServerReadReactor<v1::HeadStatisticsRequest>,
                                 public OpenStream,
                                 public std::enable_shared_from_this<HeadStatisticsCall> {
 public:
  struct Options {
    // The client's deadline, and how long one text may take.
    absl::Time deadline;
    absl::Duration max_item_time;
    std::string client;  // as Call's
    std::shared_ptr<CallRecord> record;
    // Called when the stream is over.
    std::function<void(OpenStream& stream)> on_done;
  };

  // The stream keeps itself alive until it is over. Open starts it. `context`, `pipeline` and
  // `response` are borrowed until then.
  static std::shared_ptr<HeadStatisticsCall> Create(grpc::CallbackServerContext& context,
                                                    RequestPipeline& pipeline,
                                                    v1::HeadStatisticsResponse& response,
                                                    Options options);

  // Use Create.
  HeadStatisticsCall(grpc::CallbackServerContext& context, RequestPipeline& pipeline,
                     v1::HeadStatisticsResponse& response, Options options)
      : context_(context),
        pipeline_(pipeline),
        response_(response),
        options_(std::move(options)),
        request_id_(context, *options_.record) {}

  void Open();

  void EndWith(const absl::Status& reason) override;
  // Nothing waits for the client to take it.
  void CancelIfStalled(absl::Time /*since*/) override {}

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Whether there is a text to compute; if so it is under way.
  bool TakeText(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  void Compute() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status AskForMaps(const std::shared_ptr<Call>& call) ABSL_LOCKS_EXCLUDED(mu_);
  void TakeReply(const absl::StatusOr<AttentionReply>& reply) ABSL_LOCKS_EXCLUDED(mu_);

  // Starts what is due: the next read, or the end.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CallbackServerContext& context_;
  RequestPipeline& pipeline_;
  v1::HeadStatisticsResponse& response_;
  const Options options_;
  v1::HeadStatisticsRequest request_;  // gRPC's while reading_, the pipeline's while computing_

  Mutex mu_;
  RequestIdReply request_id_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<HeadStatisticsCall> self_ ABSL_GUARDED_BY(mu_);  // until OnDone
  std::shared_ptr<Call> call_ ABSL_GUARDED_BY(mu_);                // of the text under way
  HeadAggregate aggregate_ ABSL_GUARDED_BY(mu_);
  int64_t tokens_ ABSL_GUARDED_BY(mu_) = 0;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool computing_ ABSL_GUARDED_BY(mu_) = false;
  bool takes_texts_ ABSL_GUARDED_BY(mu_) = true;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);  // what to finish with
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_HEAD_STATISTICS_CALL_H_
