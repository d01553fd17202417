#include "tests/support/otlp_receiver.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/check.h"
#include "engine/base/json.h"

namespace attune::testing {
namespace {

constexpr char kMethod[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
constexpr char kRequest[] = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest";
constexpr absl::Duration kPatience = absl::Seconds(60);

// The library that exports knows the message, but its package has no header of it.
Json Decode(const std::string& message) {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(kRequest);
  ATTUNE_CHECK(descriptor != nullptr);
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  ATTUNE_CHECK(request->ParseFromString(message));
  std::string json;
  ATTUNE_CHECK(google::protobuf::util::MessageToJsonString(*request, &json).ok());
  absl::StatusOr<Json> parsed = ParseJson(json);
  ATTUNE_CHECK(parsed.ok());
  return *std::move(parsed);
}

std::string HexOf(const std::string& base64) {
  std::string bytes;
  ATTUNE_CHECK(absl::Base64Unescape(base64, &bytes));
  return absl::BytesToHexString(bytes);
}

int64_t NumberOf(const std::string& text) {
  int64_t number = 0;
  ATTUNE_CHECK(absl::SimpleAtoi(text, &number));
  return number;
}

std::map<std::string, std::string> AttributesOf(const Json& attributes) {
  std::map<std::string, std::string> values;
  for (const Json& attribute : attributes) {
    // {"stringValue": "..."}, {"intValue": "1"}: one member, always as text.
    values[attribute.at("key")] = attribute.at("value").begin()->get<std::string>();
  }
  return values;
}

ReceivedSpan SpanOf(const Json& json) {
  ReceivedSpan span;
  span.name = json.at("name");
  span.kind = json.value("kind", "");
  span.status = json.value("status", Json::object()).value("code", "");
  span.trace_id = HexOf(json.at("traceId"));
  span.span_id = HexOf(json.at("spanId"));
  span.parent_span_id = HexOf(json.value("parentSpanId", ""));
  span.trace_state = json.value("traceState", "");
  span.start_ns = NumberOf(json.at("startTimeUnixNano"));
  span.end_ns = NumberOf(json.at("endTimeUnixNano"));
  span.attributes = AttributesOf(json.value("attributes", Json::array()));
  return span;
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  ATTUNE_CHECK(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// ExportTraceServiceResponse{}: all was taken.
grpc::ByteBuffer EmptyMessage() {
  const grpc::Slice nothing("");
  return grpc::ByteBuffer(&nothing, 1);
}

}  // namespace

// One Export, which lives until OnDone.
class OtlpReceiver::ExportCall final : public grpc::ServerGenericBidiReactor {
 public:
  ExportCall(OtlpReceiver& receiver, const std::string& method) : receiver_(receiver) {
    if (method != kMethod) {
      Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, method));
    } else if (receiver.behaviour_ == Behaviour::kAnswer) {
      StartRead(&request_);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no message"));
    receiver_.Take(BytesOf(request_));
    StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnCancel() override {
    if (receiver_.behaviour_ == Behaviour::kHang) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  OtlpReceiver& receiver_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_ = EmptyMessage();
};

OtlpReceiver::OtlpReceiver(Behaviour behaviour) : behaviour_(behaviour) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterCallbackGenericService(this);
  server_ = builder.BuildAndStart();
  ATTUNE_CHECK(server_ != nullptr && port_ != 0);
}

OtlpReceiver::~OtlpReceiver() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string OtlpReceiver::endpoint() const { return absl::StrCat("http://127.0.0.1:", port_); }

grpc::ServerGenericBidiReactor* OtlpReceiver::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new ExportCall(*this, context->method());
}

void OtlpReceiver::Take(const std::string& message) {
  const Json request = Decode(message);
  MutexLock lock(mu_);
  bytes_ += message;
  for (const Json& of_resource : request.at("resourceSpans")) {
    for (const Json& of_scope : of_resource.at("scopeSpans")) {
      for (const Json& span : of_scope.at("spans")) {
        spans_.push_back(SpanOf(span));
        spans_.back().resource = AttributesOf(of_resource.at("resource").at("attributes"));
      }
    }
  }
  changed_.NotifyAll();
}

std::vector<ReceivedSpan> OtlpReceiver::spans() const {
  MutexLock lock(mu_);
  return spans_;
}

std::vector<ReceivedSpan> OtlpReceiver::WaitForSpans(size_t count) {
  const absl::Time end = absl::Now() + kPatience;
  MutexLock lock(mu_);
  while (spans_.size() < count && absl::Now() < end) changed_.WaitFor(mu_, end - absl::Now());
  return spans_;
}

std::string OtlpReceiver::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

}  // namespace attune::testing
