// Attend: messages to engine types and back.
#ifndef ATTUNE_SERVER_CODEC_ATTEND_CODEC_H_
#define ATTUNE_SERVER_CODEC_ATTEND_CODEC_H_

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "engine/interpret/attend.h"

namespace attune {

// Copies the matrices. kInvalidArgument where rows * cols is not the number of values, for a value
// the contract does not have, or for options that exclude each other; shapes against each other are
// ValidateAttend's to check.
absl::StatusOr<AttendInput> DecodeAttendRequest(const v1::AttendRequest& request);

void EncodeAttendReply(const AttendResult& result, v1::AttendResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_ATTEND_CODEC_H_
