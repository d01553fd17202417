// Between the messages of Encode and the types of the client. Private to the client.
#ifndef ATTUNE_CLIENT_ENCODE_MESSAGES_H_
#define ATTUNE_CLIENT_ENCODE_MESSAGES_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/client.h"

namespace attune::internal {

// kInvalidArgument naming `field` and the offset if `text` is not UTF-8: protobuf would send it,
// and the server's parser would refuse the whole message without saying which text it was.
absl::Status CheckUtf8(absl::string_view text, absl::string_view field);

// The same for both texts, `field`.first and `field`.second.
absl::Status CheckUtf8(const TextPair& pair, absl::string_view field);

void AddPair(const TextPair& pair, v1::TextPairList& list);

// Sets the options, and the dimension that the client expects unless the caller named one.
void SetEncodeOptions(const v1::EncodeOptions& options, std::optional<uint32_t> expected_dimension,
                      v1::EncodeRequest& request);

// Inputs of the request, of whichever kind.
size_t CountInputs(const v1::EncodeRequest& request);

// Takes the reply apart. kInternal if it does not have one embedding per input; kFailedPrecondition
// if its dimension is not the expected one.
absl::StatusOr<EncodeResult> ToEncodeResult(const v1::EncodeRequest& request,
                                            const v1::EncodeResponse& response);

}  // namespace attune::internal

#endif  // ATTUNE_CLIENT_ENCODE_MESSAGES_H_
