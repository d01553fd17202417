#include "server/http/json_call.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "absl/base/thread_annotations.h"
#include "engine/base/check.h"
#include "engine/base/mutex.h"
#include "engine/base/status_macros.h"
#include "server/codec/json_codec.h"
#include "server/encoder_methods.h"
#include "server/http/listener.h"
#include "server/out_of_memory.h"

namespace attune {
namespace {

// Held while a body is decoded. What that takes can be many times the body, until it is refused for
// it, and is not in any budget before; so one at a time.
Mutex& DecodingMutex() {
  static auto& mutex = *new Mutex;
  return mutex;
}

template <typename Request, typename Response>
class MethodCall final : public JsonCall,
                         public std::enable_shared_from_this<MethodCall<Request, Response>> {
 public:
  explicit MethodCall(CallGate& gate)
      : gate_(gate), entry_(gate), done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Start(absl::string_view body, const std::shared_ptr<Call>& call) override {
    call_ = call;
    const absl::Status started = OrOutOfMemory([&] { return Run(body); });
    if (!started.ok()) Finish(started);
  }

  int done() const override { return done_.get(); }

  absl::StatusOr<std::string> TakeReply() override {
    MutexLock lock(mu_);
    if (!status_.ok()) return status_;
    return OrOutOfMemory([this] { return EncodeJson(response_); });
  }

 private:
  absl::Status Run(absl::string_view body) {
    ATTUNE_ASSIGN_OR_RETURN(backend_, gate_.backend());
    ATTUNE_RETURN_IF_ERROR(DecodeAndHold(body));
    RunMethod(
        *backend_, call_, request_, response_,
        [self = this->shared_from_this()](const absl::Status& status) { self->Finish(status); });
    return absl::OkStatus();
  }

  absl::Status DecodeAndHold(absl::string_view body) {
    MutexLock lock(DecodingMutex());
    absl::Status status = OrOutOfMemory([&] { return DecodeJson(body, request_); });
    if (status.ok()) {
      const auto bytes = static_cast<int64_t>(request_.SpaceUsedLong());
      status = backend_->pipeline->Hold(bytes, *call_);
    }
    if (!status.ok()) request_ = Request();
    return status;
  }

  void Finish(const absl::Status& status) {
    {
      MutexLock lock(mu_);
      status_ = status;
    }
    const uint64_t one = 1;
    while (write(done_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  CallGate& gate_;
  const CallEntry entry_;
  std::shared_ptr<const Backend> backend_;
  std::shared_ptr<Call> call_;  // is over when the reply has been written
  const FileDescriptor done_;
  Request request_;
  Response response_;  // complete once status_ is set
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

template <typename Request, typename Response>
std::shared_ptr<JsonCall> Make(CallGate& gate) {
  return std::make_shared<MethodCall<Request, Response>>(gate);
}

struct Method {
  absl::string_view path;
  RpcMethod method;
  std::shared_ptr<JsonCall> (*make)(CallGate& gate);
  PathKind kind = PathKind::kMethod;
};

constexpr Method kMethods[] = {
    {"/v1/encode", RpcMethod::kEncode, Make<v1::EncodeRequest, v1::EncodeResponse>},
    {"/v1/attention-map", RpcMethod::kAttentionMap,
     Make<v1::AttentionMapRequest, v1::AttentionMapResponse>},
    {"/v1/explain-similarity", RpcMethod::kExplainSimilarity,
     Make<v1::ExplainSimilarityRequest, v1::ExplainSimilarityResponse>},
    {"/v1/attend", RpcMethod::kAttend, Make<v1::AttendRequest, v1::AttendResponse>},
    {"/v1/tokenize", RpcMethod::kTokenize, Make<v1::TokenizeRequest, v1::TokenizeResponse>},
    {"/v1/model", RpcMethod::kGetModel, Make<v1::GetModelRequest, v1::GetModelResponse>,
     PathKind::kReadOnlyMethod},
};

const Method* FindMethod(absl::string_view path) {
  for (const Method& method : kMethods) {
    if (method.path == path) return &method;
  }
  return nullptr;
}

}  // namespace

PathKind KindOfPath(absl::string_view path) {
  const Method* method = FindMethod(path);
  return method == nullptr ? PathKind::kUnknown : method->kind;
}

RpcMethod MethodOfPath(absl::string_view path) {
  const Method* method = FindMethod(path);
  return method == nullptr ? RpcMethod::kOther : method->method;
}

std::shared_ptr<JsonCall> NewJsonCall(absl::string_view path, CallGate& gate) {
  const Method* method = FindMethod(path);
  ATTUNE_CHECK(method != nullptr);
  return method->make(gate);
}

}  // namespace attune
