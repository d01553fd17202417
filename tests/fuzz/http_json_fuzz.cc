// The body of an HTTP request: any bytes give an error with a short message, or a message that the
// codec of its method takes or refuses. The first byte chooses the method.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "server/codec/attend_codec.h"
#include "server/codec/attention_codec.h"
#include "server/codec/encode_codec.h"
#include "server/codec/json_codec.h"
#include "server/codec/model_codec.h"

namespace attune {
namespace {

// Decoded twice, in the form that the server itself would write the second time.
template <typename Request>
bool Decode(absl::string_view json, Request& request) {
  const absl::Status decoded = DecodeJson(json, request);
  if (!decoded.ok()) {
    ATTUNE_CHECK(!decoded.message().empty() && decoded.message().size() < 4096);
    return false;
  }
  const absl::StatusOr<std::string> written = EncodeJson(request);
  ATTUNE_CHECK(written.ok());
  Request again;
  // Numbers may be written longer than they were read, so only success is certain: of small ones.
  ATTUNE_CHECK(written->size() > 1 << 20 || DecodeJson(*written, again).ok());
  return true;
}

void DecodeAs(uint8_t method, absl::string_view json) {
  v1::EncodeRequest encode;
  v1::AttentionMapRequest attention;
  v1::AttendRequest attend;
  v1::TokenizeRequest tokenize;
  switch (method % 4) {
    case 0:
      if (Decode(json, encode)) DecodeEncodeRequest(encode).status().IgnoreError();
      break;
    case 1:
      if (Decode(json, attention)) DecodeAttentionQuery(attention.query()).status().IgnoreError();
      break;
    case 2:
      if (Decode(json, attend)) DecodeAttendRequest(attend).status().IgnoreError();
      break;
    default:
      if (Decode(json, tokenize)) DecodeTokenizeRequest(tokenize).status().IgnoreError();
      break;
  }
}

}  // namespace
}  // namespace attune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  attune::DecodeAs(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
