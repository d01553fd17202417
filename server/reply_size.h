// How large a serialized reply will be, told before anything is computed. Upper bounds: a reply is
// never larger, and rarely smaller by more than a few bytes a vector or token.
#ifndef ATTUNE_SERVER_REPLY_SIZE_H_
#define ATTUNE_SERVER_REPLY_SIZE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "engine/engine.h"
#include "server/encode_job.h"
#include "server/requests.h"

namespace attune {

int64_t EncodeReplyBytes(const std::vector<Encoding>& encodings, const VectorPlan& plan,
                         int64_t hidden);

// `reply` with the encoding and the plan; `dimension` is that of the model's vectors. Saturates at
// INT64_MAX.
int64_t AttentionReplyBytes(const AttentionInput& input, const AttentionReply& reply,
                            const Tokenizer& tokenizer, int64_t dimension);

// `reply` with the encodings.
int64_t SimilarityReplyBytes(const SimilarityReply& reply, const Tokenizer& tokenizer);

int64_t TokenizeReplyBytes(const std::vector<Encoding>& encodings, const Tokenizer& tokenizer);

// REQUIRES: ValidateAttend(input) is OK.
int64_t AttendReplyBytes(const AttendInput& input);

// No reply of `max_message_bytes` lists more tokens than this.
int64_t MostTokensOfAReply(int64_t max_message_bytes);

// kInvalidArgument with both numbers if a reply of `bytes` bytes is over the limit.
absl::Status CheckReplyBytes(int64_t bytes, int64_t max_message_bytes);

}  // namespace attune

#endif  // ATTUNE_SERVER_REPLY_SIZE_H_
