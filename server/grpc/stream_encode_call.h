#ifndef ATTUNE_SERVER_GRPC_STREAM_ENCODE_CALL_H_
#define ATTUNE_SERVER_GRPC_STREAM_ENCODE_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attune/v1/attune.pb.h"
#include "engine/base/mutex.h"
#include "server/call.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/open_streams.h"
#include "server/request_pipeline.h"
#include "server/requests.h"
#include "server/stream_window.h"

namespace attune {

// gRPC's side of one StreamEncode call. Each item that is read goes through the pipeline as a
// request of its own, and its answer waits for its turn to be written. Items are read only while
// those under way leave room, so a client that does not read is not read from either.
//
// gRPC allows one read, one write and one Finish at a time; Advance starts whichever is due. It is
// called with the lock held, which is safe because gRPC runs reactions on threads of its own.
// Thread-safe.
class StreamEncodeCall final
    : public grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>,
      public OpenStream,
      public std::enable_shared_from_this<StreamEncodeCall> {
 public:
  struct Options {
    int64_t max_items = 64;  // under way at a time, and
    int64_t max_bytes = 0;   // of texts and answers, about
    // The client's deadline, and how long one item may take.
    absl::Time deadline;
    absl::Duration max_item_time;
    std::string client;  // as Call's
    std::shared_ptr<CallRecord> record;
    // Called when the stream is over.
    std::function<void(OpenStream& stream)> on_done;
  };

  // The stream keeps itself alive until it is over. Open starts it. `context` and `pipeline` are
  // borrowed until then, and `pipeline` until the last item's answer.
  static std::shared_ptr<StreamEncodeCall> Create(grpc::CallbackServerContext& context,
                                                  RequestPipeline& pipeline, Options options);

  // Use Create.
  StreamEncodeCall(grpc::CallbackServerContext& context, RequestPipeline& pipeline,
                   Options options);

  void Open();

  void EndWith(const absl::Status& reason) override;
  void CancelIfStalled(absl::Time since) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  struct Item {
    v1::StreamEncodeRequest request;
    std::shared_ptr<Call> call;
    int64_t bytes = 0;  // what it weighs in the window
  };
  struct Answer {
    v1::StreamEncodeResponse response;
    int64_t bytes = 0;
    std::shared_ptr<Call> call;  // is over when the answer has been taken
  };

  // What is left to do with a message that was read: an item for the pipeline, or nothing.
  struct Work {
    std::shared_ptr<Item> item;
    EncodeInput input;
  };
  Work TakeItem(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status ReadOptions(const v1::EncodeOptions& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Encode(Work work);
  void TakeAnswer(const std::shared_ptr<Item>& item, const absl::StatusOr<EncodeReply>& reply);

  // Nobody will take answers any more: stops what is under way.
  void Abandon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Starts the operations that are due, which are all that can be.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishIfOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CallbackServerContext& context_;
  RequestPipeline& pipeline_;
  const Options options_;

  Mutex mu_;
  RequestIdReply request_id_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<StreamEncodeCall> self_ ABSL_GUARDED_BY(mu_);  // until OnDone
  StreamWindow window_ ABSL_GUARDED_BY(mu_);
  std::optional<EncodeInput> encode_options_ ABSL_GUARDED_BY(mu_);  // from the first message

  std::shared_ptr<Item> next_ ABSL_GUARDED_BY(mu_);  // being read
  absl::flat_hash_set<std::shared_ptr<Item>> in_pipeline_ ABSL_GUARDED_BY(mu_);
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mu_);  // the first is being written if writing_

  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time write_began_ ABSL_GUARDED_BY(mu_);
  bool takes_items_ ABSL_GUARDED_BY(mu_) = true;
  bool abandoned_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);  // what to finish with
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_STREAM_ENCODE_CALL_H_
