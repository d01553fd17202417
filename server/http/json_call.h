// A method of the API called with JSON, for a thread that waits.
#ifndef ATTUNE_SERVER_HTTP_JSON_CALL_H_
#define ATTUNE_SERVER_HTTP_JSON_CALL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/call.h"
#include "server/call_gate.h"
#include "server/rpc_method.h"

namespace attune {

// One call, from the JSON of its request to the JSON of its reply, counted by the gate as long as
// the object lives. Shared with those who work on it, so the thread that waits may give up.
class JsonCall {
 public:
  virtual ~JsonCall() = default;

  // Decodes `body` and hands it over, or answers at once. Once only; does not wait.
  virtual void Start(absl::string_view body, const std::shared_ptr<Call>& call) = 0;
  // A file descriptor that becomes readable when the answer, which comes on any thread, is there;
  // negative if the process had none left, and then the call cannot be started.
  virtual int done() const = 0;
  // The JSON of the reply, or the call's error. After done() only.
  virtual absl::StatusOr<std::string> TakeReply() = 0;
};

// How a path is called.
enum class PathKind {
  kUnknown,
  kMethod,          // POST
  kReadOnlyMethod,  // POST, or GET without arguments
};
PathKind KindOfPath(absl::string_view path);
// The method at `path`; kOther where there is none.
RpcMethod MethodOfPath(absl::string_view path);

// A call of the method at `path`, which KindOfPath knows.
std::shared_ptr<JsonCall> NewJsonCall(absl::string_view path, CallGate& gate);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_JSON_CALL_H_
