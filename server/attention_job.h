#ifndef ATTUNE_SERVER_ATTENTION_JOB_H_
#define ATTUNE_SERVER_ATTENTION_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/byte_budget.h"
#include "server/job.h"
#include "server/requests.h"

namespace attune {

// What is to be done with the text of an AttentionMap request, besides the map of reply.plan.
struct AttentionWork {
  std::vector<int32_t> ids;              // the text's, some of them masked
  ConstMatrixView vectors;               // with rows: in place of the ids; borrowed
  AttentionWindow window;                // what tokens may attend to
  bool changed = false;                  // by any of these or ablation: what that moves is told
  std::optional<HeadAblation> ablation;  // of every pass but the unchanged one
  bool want_embedding = false;
  TokenErasure erasure = TokenErasure::kNone;
  int32_t mask_id = -1;  // of kMask
};

// A batch of the text alone, as `work` changes it. Borrows its vectors.
Batch ChangedText(const AttentionReply& reply, const AttentionWork& work);

// The forward passes of one AttentionMap request. They run alone, so that the tap's matrices are
// those of one text.
class AttentionJob final : public Job {
 public:
  using Done = std::function<void(absl::StatusOr<AttentionReply>)>;

  // `reply` holds the encoding and the plan. `bytes` are held until the work is done, and free
  // again before a client can see the answer.
  AttentionJob(std::shared_ptr<Call> call, AttentionReply reply, AttentionWork work,
               ByteBudget::Reservation bytes, Done done);

  bool runs_alone() const override { return true; }
  void RunAlone(Session& session) override;
  void Fail(int64_t index, absl::Status status) override;

  int64_t tokens() const { return reply_.encoding.size(); }

 private:
  absl::Status Run(Session& session);
  // The vector of the batch's only text, with the map if `tap` is there to make it.
  absl::StatusOr<std::vector<float>> Embed(Session& session, const Batch& batch,
                                           const HeadAblation* ablation, LayerTap* tap);
  absl::Status MeasureMovement(Session& session, const std::vector<float>& changed);
  absl::Status EraseTokens(Session& session, const std::vector<float>& whole);
  // Each of `tokens` in a text of its own, in one pass.
  absl::Status EraseSome(Session& session, const std::vector<float>& whole,
                         absl::Span<const int64_t> tokens);
  // The text's tokens with one erased.
  void AppendErased(int64_t token, Batch& batch) const;
  std::function<bool()> ShouldStop() const;
  Encoder::ForwardOptions PassOptions(const HeadAblation* ablation, LayerTap* tap) const;

  AttentionReply reply_;
  const AttentionWork work_;
  ByteBudget::Reservation bytes_;
  const Done done_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ATTENTION_JOB_H_
