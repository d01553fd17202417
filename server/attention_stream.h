// The map of one text, a layer at a time.
#ifndef ATTUNE_SERVER_ATTENTION_STREAM_H_
#define ATTUNE_SERVER_ATTENTION_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/attention_job.h"
#include "server/batcher.h"
#include "server/byte_budget.h"
#include "server/call.h"
#include "server/requests.h"

namespace attune {

// A forward pass that is set aside between layers, so that a client who reads slowly holds neither
// a worker nor more than one layer. Thread-compatible: one Next at a time.
class AttentionStream final : public std::enable_shared_from_this<AttentionStream> {
 public:
  // The maps of a chosen layer; or, without one, that the pass is over.
  struct Part {
    std::optional<int64_t> layer;
    MapBytes maps;
  };
  using Done = std::function<void(absl::StatusOr<Part>)>;

  // `header` holds the encoding and the plan. `bytes` are held until the pass is over, so that they
  // are free again before a client can see the end. `model` and `batcher` are borrowed.
  AttentionStream(std::shared_ptr<Call> call, AttentionReply header, AttentionWork work,
                  const ModelConfig& model, ByteBudget::Reservation bytes, Batcher& batcher);

  // All but the maps; statistics, mixing ratios and embedding once the pass is over.
  const AttentionReply& reply() const { return reply_; }

  // Computes up to the next chosen layer on a worker, and calls `done` there, or here with an
  // error.
  void Next(Done done);

 private:
  class NextJob;

  absl::StatusOr<Part> Run(Session& session);
  absl::Status End(Session& session);
  const HeadAblation* ablation() const {
    return work_.ablation.has_value() ? &*work_.ablation : nullptr;
  }

  const std::shared_ptr<Call> call_;
  AttentionReply reply_;
  const AttentionWork work_;
  const ModelConfig& model_;
  ByteBudget::Reservation bytes_;
  Batcher& batcher_;

  const Batch batch_;
  AttentionMapper mapper_;
  Matrix hidden_;  // [seq, hidden] before layer next_layer_; empty before the first
  int64_t next_layer_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ATTENTION_STREAM_H_
