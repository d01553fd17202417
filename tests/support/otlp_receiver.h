// A collector of traces on a loopback port: what a server exports by OTLP over gRPC arrives here.
#ifndef ATTUNE_TESTS_SUPPORT_OTLP_RECEIVER_H_
#define ATTUNE_TESTS_SUPPORT_OTLP_RECEIVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "engine/base/mutex.h"

namespace attune::testing {

// A span as it came over the wire. Ids are lower-case hexadecimal, times nanoseconds since 1970;
// of an attribute, its value as text.
struct ReceivedSpan {
  std::string name;
  std::string kind;    // "SPAN_KIND_SERVER"
  std::string status;  // "STATUS_CODE_ERROR", or "" for none
  std::string trace_id;
  std::string span_id;
  std::string parent_span_id;
  std::string trace_state;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::string> resource;
};

class OtlpReceiver final : public grpc::CallbackGenericService {
 public:
  enum class Behaviour {
    kAnswer,
    kHang,  // never answers, until its client gives up
  };

  // Listens on a free port.
  explicit OtlpReceiver(Behaviour behaviour = Behaviour::kAnswer);
  ~OtlpReceiver();

  // "http://127.0.0.1:PORT"
  std::string endpoint() const;

  // All spans so far.
  std::vector<ReceivedSpan> spans() const;
  // The same once there are `count` or more; a test that waits in vain for long gets what there is.
  std::vector<ReceivedSpan> WaitForSpans(size_t count);
  // Every message so far, as it came.
  std::string bytes() const;

 private:
  class ExportCall;

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
  void Take(const std::string& message);

  const Behaviour behaviour_;
  int port_ = 0;
  mutable Mutex mu_;
  CondVar changed_;
  std::vector<ReceivedSpan> spans_ ABSL_GUARDED_BY(mu_);
  std::string bytes_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_OTLP_RECEIVER_H_
