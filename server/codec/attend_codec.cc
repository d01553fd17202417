#include "server/codec/attend_codec.h"

#include <algorithm>

#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

absl::StatusOr<Matrix> DecodeMatrix(absl::string_view field, const v1::Matrix& message) {
  ATTUNE_RETURN_IF_ERROR(DecodeMatrixView(field, message).status());
  // 0 x n is as absent as 0 x 0.
  if (message.values().empty()) return Matrix();
  Matrix matrix(message.rows(), message.cols());
  std::copy(message.values().begin(), message.values().end(), matrix.data());
  return matrix;
}

absl::StatusOr<AttendScore> DecodeScore(v1::AttendScore value) {
  switch (value) {
    case v1::ATTEND_SCORE_UNSPECIFIED:
    case v1::ATTEND_SCORE_SCALED_DOT:
      return AttendScore::kScaledDot;
    case v1::ATTEND_SCORE_DOT:
      return AttendScore::kDot;
    case v1::ATTEND_SCORE_ADDITIVE:
      return AttendScore::kAdditive;
    default:
      return UnknownEnum("score", value);
  }
}

absl::StatusOr<AttendNormalizer> DecodeNormalizer(v1::AttendNormalizer value) {
  switch (value) {
    case v1::ATTEND_NORMALIZER_UNSPECIFIED:
    case v1::ATTEND_NORMALIZER_SOFTMAX:
      return AttendNormalizer::kSoftmax;
    case v1::ATTEND_NORMALIZER_RELU:
      return AttendNormalizer::kRelu;
    default:
      return UnknownEnum("normalizer", value);
  }
}

absl::StatusOr<AttendPosition> DecodePosition(v1::AttendPosition value) {
  switch (value) {
    case v1::ATTEND_POSITION_UNSPECIFIED:
    case v1::ATTEND_POSITION_NONE:
      return AttendPosition::kNone;
    case v1::ATTEND_POSITION_SINUSOIDAL:
      return AttendPosition::kSinusoidal;
    default:
      return UnknownEnum("position", value);
  }
}

AttendMask DecodeMask(const v1::AttendMask& message) {
  AttendMask mask;
  switch (message.kind_case()) {
    case v1::AttendMask::KIND_NOT_SET:
      break;
    case v1::AttendMask::kCausal:
      mask.kind = AttendMask::Kind::kCausal;
      break;
    case v1::AttendMask::kWindow:
      mask.kind = AttendMask::Kind::kWindow;
      mask.left = message.window().left();
      mask.right = message.window().right();
      break;
    case v1::AttendMask::kGraph:
      mask.kind = AttendMask::Kind::kGraph;
      mask.edges.reserve(static_cast<size_t>(message.graph().edges_size()));
      for (const auto& edge : message.graph().edges()) {
        mask.edges.emplace_back(edge.from(), edge.to());
      }
      break;
  }
  return mask;
}

// Given weights take the place of all that would have made them.
absl::Status CheckGivenWeights(const v1::AttendRequest& request) {
  if (!request.has_given_weights()) return absl::OkStatus();
  absl::string_view excluded;
  if (request.has_additive_vector()) excluded = "additive_vector";
  if (request.has_mask()) excluded = "mask";
  if (request.normalizer() != v1::ATTEND_NORMALIZER_UNSPECIFIED) excluded = "normalizer";
  if (request.score() != v1::ATTEND_SCORE_UNSPECIFIED) excluded = "score";
  if (excluded.empty()) return absl::OkStatus();
  return FieldError(excluded, " has no effect with given_weights; leave one of them out");
}

}  // namespace

absl::StatusOr<AttendInput> DecodeAttendRequest(const v1::AttendRequest& request) {
  ATTUNE_RETURN_IF_ERROR(CheckGivenWeights(request));
  AttendInput input;
  ATTUNE_ASSIGN_OR_RETURN(input.vectors, DecodeMatrix("vectors", request.vectors()));
  ATTUNE_ASSIGN_OR_RETURN(input.query_projection,
                          DecodeMatrix("query_projection", request.query_projection()));
  ATTUNE_ASSIGN_OR_RETURN(input.key_projection,
                          DecodeMatrix("key_projection", request.key_projection()));
  ATTUNE_ASSIGN_OR_RETURN(input.value_projection,
                          DecodeMatrix("value_projection", request.value_projection()));
  ATTUNE_ASSIGN_OR_RETURN(input.output_projection,
                          DecodeMatrix("output_projection", request.output_projection()));
  ATTUNE_ASSIGN_OR_RETURN(input.additive_vector,
                          DecodeMatrix("additive_vector", request.additive_vector()));
  ATTUNE_ASSIGN_OR_RETURN(input.given_weights,
                          DecodeMatrix("given_weights", request.given_weights()));
  if (request.heads() > 0) input.heads = request.heads();
  ATTUNE_ASSIGN_OR_RETURN(input.score, DecodeScore(request.score()));
  ATTUNE_ASSIGN_OR_RETURN(input.normalizer, DecodeNormalizer(request.normalizer()));
  ATTUNE_ASSIGN_OR_RETURN(input.position, DecodePosition(request.position()));
  input.mask = DecodeMask(request.mask());
  return input;
}

void EncodeAttendReply(const AttendResult& result, v1::AttendResponse& response) {
  EncodeMatrix(result.queries, *response.mutable_queries());
  EncodeMatrix(result.keys, *response.mutable_keys());
  EncodeMatrix(result.values, *response.mutable_values());
  if (result.scores.rows() > 0) EncodeMatrix(result.scores, *response.mutable_scores());
  EncodeMatrix(result.weights, *response.mutable_weights());
  EncodeMatrix(result.outputs, *response.mutable_outputs());
}

}  // namespace attune
