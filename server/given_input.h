// Input that the caller made itself, in place of a text: token ids, or vectors.
#ifndef ATTUNE_SERVER_GIVEN_INPUT_H_
#define ATTUNE_SERVER_GIVEN_INPUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/matrix.h"
#include "engine/text/tokenizer.h"
#include "server/requests.h"

namespace attune {

// `ids` as the tokenizer would have given them: type 0, without offsets. kInvalidArgument if there
// are none, too many, or one that the model does not have; the message names `field` or an element
// of it, the value and the limit.
absl::StatusOr<Encoding> TakeTokenIds(absl::string_view field, absl::Span<const uint32_t> ids,
                                      const ModelInfo& model);

// What stands for `vectors` [seq, hidden] on their way: as many tokens, of no id. kInvalidArgument
// likewise, for another shape and for a value that is not finite.
absl::StatusOr<Encoding> TakeVectors(absl::string_view field, ConstMatrixView vectors,
                                     const ModelInfo& model);

// Says of each token that it is of no text and no word, and that no template added it.
void FillInOffsets(Encoding& encoding);

}  // namespace attune

#endif  // ATTUNE_SERVER_GIVEN_INPUT_H_
