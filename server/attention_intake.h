// The first stages of an AttentionMap request: what it means for this model and this text, and
// whether it fits.
#ifndef ATTUNE_SERVER_ATTENTION_INTAKE_H_
#define ATTUNE_SERVER_ATTENTION_INTAKE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "server/attention_job.h"
#include "server/requests.h"
#include "server/server_options.h"

namespace attune {

// The bytes of a map as it is sent, and of all that is in memory while it is made, it included.
struct MapMemory {
  int64_t reply_bytes = 0;
  int64_t held_bytes = 0;
};

// Immutable and thread-safe. Errors are kInvalidArgument naming the field, the value and the limit.
class AttentionIntake {
 public:
  // Borrows all three.
  AttentionIntake(const ServerOptions& options, const Engine& engine, const ModelInfo& model)
      : options_(options), engine_(engine), model_(model) {}

  // What can be told before the text is tokenised: fills in input.map and input.ablation.
  absl::Status Resolve(AttentionInput& input) const;

  // Makes reply.plan and reply.input_sha256 of a resolved input and reply.encoding, and says what
  // is to be computed.
  absl::StatusOr<AttentionWork> Plan(const AttentionInput& input, AttentionReply& reply) const;

  // What a planned request takes. A reply over the byte limit is refused here, before it is
  // computed.
  absl::StatusOr<MapMemory> ReplyFits(const AttentionInput& input,
                                      const AttentionReply& reply) const;
  // The bytes that a stream holds, which holds a layer at a time and has no limit on its total.
  // Refuses what needs all layers.
  absl::StatusOr<int64_t> StreamFits(const AttentionInput& input,
                                     const AttentionReply& reply) const;

 private:
  absl::Status ResolveSelections(AttentionInput& input) const;
  absl::Status ResolveAblation(AttentionInput& input) const;
  absl::Status CheckErasure(const AttentionInput& input, const Encoding& encoding) const;
  absl::StatusOr<int64_t> HeldFits(const AttentionReply& reply, int64_t reply_bytes) const;

  const ServerOptions& options_;
  const Engine& engine_;
  const ModelInfo& model_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ATTENTION_INTAKE_H_
