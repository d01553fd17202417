#ifndef ATTUNE_SERVER_ENCODE_JOB_H_
#define ATTUNE_SERVER_ENCODE_JOB_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "engine/base/mutex.h"
#include "engine/engine.h"
#include "server/job.h"
#include "server/requests.h"

namespace attune {

// How the vectors of an Encode request are made from token vectors.
struct VectorPlan {
  // Absent: token vectors.
  std::optional<Engine::PoolingPlan> pooling;
  // Of token vectors: scale each to length 1.
  bool normalize_tokens = false;

  // Values per vector.
  int64_t dimension(int64_t hidden) const {
    return pooling.has_value() ? pooling->dimension(hidden) : hidden;
  }
};

// What an Encode request is to encode.
struct EncodeTexts {
  std::vector<Encoding> encodings;
  // If not empty, what each text is made of instead of its encoding's ids: borrowed until the
  // answer, [encoding.size(), hidden] each.
  std::vector<ConstMatrixView> vectors;
  AttentionWindow window;  // of every text
};

// The texts of one Encode request on their way through the workers; item i is text i. Answers when
// the last text is done: with all vectors, or with the first error, since a unary call has no way
// to say that some of it failed.
class EncodeJob final : public Job {
 public:
  using Done = std::function<void(absl::StatusOr<EncodeReply>)>;

  EncodeJob(std::shared_ptr<Call> call, EncodeTexts texts, VectorPlan plan, int64_t hidden,
            Done done);

  bool runs_alone() const override { return false; }
  TextRows rows_wanted() const override;
  void AppendTo(int64_t index, Batch& batch) const override;
  void Finish(int64_t index, ConstMatrixView hidden) override;
  void Fail(int64_t index, absl::Status status) override;

  // One per text, for the batcher.
  static std::vector<WorkItem> Items(const std::shared_ptr<EncodeJob>& job);

 private:
  absl::Status MakeVector(ConstMatrixView hidden, std::vector<float>& values) const;
  // Counts one text as done and answers after the last.
  void ItemDone(absl::Status status);

  const EncodeTexts texts_;
  const VectorPlan plan_;
  const Done done_;
  // Each vector is written by the one thread that finishes its text.
  EncodeReply reply_;

  Mutex mu_;
  size_t remaining_ ABSL_GUARDED_BY(mu_);
  absl::Status first_error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ENCODE_JOB_H_
