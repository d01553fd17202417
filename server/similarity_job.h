#ifndef ATTUNE_SERVER_SIMILARITY_JOB_H_
#define ATTUNE_SERVER_SIMILARITY_JOB_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/job.h"
#include "server/requests.h"

namespace attune {

// One ExplainSimilarity request: both texts in one forward pass, of which they are separate items,
// and then the explanation.
class SimilarityJob final : public Job {
 public:
  using Done = std::function<void(absl::StatusOr<SimilarityReply>)>;

  // `reply` holds the encodings. REQUIRES: the model has one pooling, `mode`, which is a mean.
  SimilarityJob(std::shared_ptr<Call> call, SimilarityReply reply, PoolingMode mode, Done done);

  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override;
  void Fail(int64_t index, absl::Status status) override;

  int64_t tokens() const { return reply_.first.size() + reply_.second.size(); }

 private:
  absl::Status Run(Session& session);

  SimilarityReply reply_;
  const PoolingMode mode_;
  const Done done_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SIMILARITY_JOB_H_
