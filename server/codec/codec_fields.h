// Small pieces that every codec shares.
#ifndef ATTUNE_SERVER_CODEC_CODEC_FIELDS_H_
#define ATTUNE_SERVER_CODEC_CODEC_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"
#include "engine/text/tokenizer.h"
#include "server/requests.h"

namespace attune {

// kUnimplemented naming a field, or a field's value, that the contract has but this server does
// not.
absl::Status NotBuilt(absl::string_view field);

// kInvalidArgument for an enum number that the contract does not have.
absl::Status UnknownEnum(absl::string_view field, int value);

absl::StatusOr<TruncationPolicy> DecodeTruncation(absl::string_view field, v1::Truncation value);

// What tokens may attend to. kInvalidArgument if the mask has no kind.
absl::StatusOr<AttentionWindow> DecodeMask(absl::string_view field,
                                           const v1::AttentionMask& message);

// The numbers of `message`, borrowed. kInvalidArgument if they are not rows * cols.
absl::StatusOr<ConstMatrixView> DecodeMatrixView(absl::string_view field,
                                                 const v1::Matrix& message);

void EncodeMatrix(const Matrix& matrix, v1::Matrix& message);

// What makes a reply's numbers reproducible.
void EncodeProvenance(const ModelInfo& model, v1::Provenance& provenance);

// The tokens of `encoding` (made with offsets) in the form of the contract.
void EncodeTokens(const Encoding& encoding, const Tokenizer& tokenizer,
                  google::protobuf::RepeatedPtrField<v1::Token>& tokens);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_CODEC_FIELDS_H_
