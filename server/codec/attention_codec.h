// AttentionMap: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_
#define ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "engine/interpret/head_aggregate.h"
#include "server/requests.h"

namespace attune {

// The result borrows from `query`. kInvalidArgument for a value the contract does not have, and for
// vectors that do not fill their matrix.
absl::StatusOr<AttentionInput> DecodeAttentionQuery(const v1::AttentionQuery& query);

// Moves the matrices out of `reply`.
void EncodeAttentionReply(AttentionReply reply, const Tokenizer& tokenizer, const ModelInfo& model,
                          v1::AttentionMapResponse& response);

// Sets response.query to `query` with its defaults filled in and without its input, after the rest
// of the response is there.
void EchoAttentionQuery(const v1::AttentionQuery& query, v1::AttentionMapResponse& response);

// What a stream tells at its end, apart from what it counted.
void EncodeAttentionTrailer(const AttentionReply& reply, v1::AttentionTrailer& trailer);

// The statistics of one text of a HeadStatistics stream, as a query without a matrix. Errors as
// above.
absl::StatusOr<AttentionInput> DecodeStatisticsText(const v1::HeadStatisticsRequest& request);

void EncodeHeadStatistics(const HeadAggregate& aggregate, int64_t tokens, const ModelInfo& model,
                          v1::HeadStatisticsResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_
