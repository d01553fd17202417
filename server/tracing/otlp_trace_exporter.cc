// OpenTraceExporter of a program that was built with ATTUNE_OTLP: a bounded queue, and a thread
// that sends what is in it, both of the OpenTelemetry SDK. Its tracers are not used, because they
// take the time and choose the ids themselves: our spans are over when they get here, and their ids
// logged.
#include <opentelemetry/exporters/otlp/otlp_grpc_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_grpc_exporter_options.h>
#include <opentelemetry/sdk/common/global_log_handler.h>
#include <opentelemetry/sdk/instrumentationscope/instrumentation_scope.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/resource/resource_detector.h>
#include <opentelemetry/sdk/trace/batch_span_processor.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/recordable.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/trace_state.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/clock.h"
#include "engine/base/line_limiter.h"
#include "engine/base/log.h"
#include "server/http/host_port.h"
#include "server/tracing/trace_exporter.h"

namespace attune {
namespace {

namespace otlp = opentelemetry::exporter::otlp;
namespace otel_log = opentelemetry::sdk::common::internal_log;
namespace otel_sdk = opentelemetry::sdk;
namespace otel_trace = opentelemetry::trace;

// Spans appear in a trace so long after they ended.
constexpr std::chrono::milliseconds kSendEvery{1000};
// Some two thousand calls; about as many KiB of memory as spans.
constexpr size_t kMostWaiting = 8'192;
constexpr size_t kMostPerMessage = 512;

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";

// What the SDK has to say, above all that a message could not be sent (an error to it), and that
// the queue is full (a warning), which it says of each span. A line a second of either tells
// enough.
class LogLines final : public otel_log::LogHandler {
 public:
  void Handle(otel_log::LogLevel level, const char* /*file*/, int /*line*/, const char* message,
              const otel_sdk::common::AttributeMap& /*attributes*/) noexcept override {
    const absl::string_view kind = level == otel_log::LogLevel::Error ? "error" : "warning";
    const std::optional<int64_t> suppressed = limiter_.Admit(kind, SteadyNow());
    if (!suppressed.has_value()) return;
    Log(LogLevel::kWarning, "trace_export", message, {{"suppressed", *suppressed}});
  }

 private:
  LineLimiter limiter_{/*lines_per_second=*/1};
};

// The handler is for the whole process.
void LogForOpenTelemetry() {
  static std::once_flag once;
  std::call_once(once, [] {
    otel_log::GlobalLogHandler::SetLogHandler(
        opentelemetry::nostd::shared_ptr<otel_log::LogHandler>(new LogLines));
    otel_log::GlobalLogHandler::SetLogLevel(otel_log::LogLevel::Warning);
  });
}

// What these variables say of this process wins: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
otel_sdk::resource::Resource ThisServer() {
  return otel_sdk::resource::Resource::Create(
             {{"service.name", "attune"}, {"service.version", ATTUNE_VERSION}})
      .Merge(otel_sdk::resource::OTELResourceDetector().Detect());
}

// Of two hexadecimal digits a byte; of "" it is all zero, which is no id.
template <typename Id>
Id IdOf(absl::string_view hex) {
  uint8_t bytes[Id::kSize] = {};
  for (size_t i = 0; i < Id::kSize && 2 * i < hex.size(); ++i) {
    uint32_t byte = 0;
    absl::SimpleHexAtoi(hex.substr(2 * i, 2), &byte);
    bytes[i] = static_cast<uint8_t>(byte);
  }
  return Id(bytes);
}

otel_trace::SpanContext ContextOf(const Span& span) {
  return otel_trace::SpanContext(
      IdOf<otel_trace::TraceId>(span.trace_id), IdOf<otel_trace::SpanId>(span.span_id),
      otel_trace::TraceFlags(otel_trace::TraceFlags::kIsSampled), /*is_remote=*/false,
      otel_trace::TraceState::FromHeader(span.tracestate));
}

void SetAttribute(const Span::Attribute& attribute, otel_sdk::trace::Recordable& target) {
  const opentelemetry::nostd::string_view name(attribute.first.data(), attribute.first.size());
  if (const auto* text = std::get_if<std::string>(&attribute.second)) {
    target.SetAttribute(name, opentelemetry::nostd::string_view(*text));
  } else {
    target.SetAttribute(name, std::get<int64_t>(attribute.second));
  }
}

class OtlpTraceExporter final : public TraceExporter {
 public:
  explicit OtlpTraceExporter(std::unique_ptr<otel_sdk::trace::SpanExporter> sender)
      : resource_(ThisServer()),
        scope_(
            otel_sdk::instrumentationscope::InstrumentationScope::Create("attune", ATTUNE_VERSION)),
        sender_(*sender),
        queue_(std::move(sender), {kMostWaiting, kSendEvery, kMostPerMessage}) {}
  // Gives up what is left: otherwise the queue would send it all, a timeout for each message.
  ~OtlpTraceExporter() override { sender_.Shutdown(); }

  void Export(const std::vector<Span>& spans) override {
    for (const Span& span : spans) queue_.OnEnd(Encode(span));
  }

  void Flush(absl::Duration patience) override {
    queue_.ForceFlush(absl::ToChronoMicroseconds(patience));
  }

 private:
  std::unique_ptr<otel_sdk::trace::Recordable> Encode(const Span& span) {
    std::unique_ptr<otel_sdk::trace::Recordable> encoded = queue_.MakeRecordable();
    encoded->SetIdentity(ContextOf(span), IdOf<otel_trace::SpanId>(span.parent_span_id));
    encoded->SetTraceFlags(otel_trace::TraceFlags(otel_trace::TraceFlags::kIsSampled));
    encoded->SetName(span.name);
    encoded->SetSpanKind(span.kind == Span::Kind::kServer ? otel_trace::SpanKind::kServer
                                                          : otel_trace::SpanKind::kInternal);
    encoded->SetStartTime(
        opentelemetry::common::SystemTimestamp(absl::ToChronoTime(span.time.start)));
    encoded->SetDuration(absl::ToChronoNanoseconds(span.time.end - span.time.start));
    encoded->SetResource(resource_);
    encoded->SetInstrumentationScope(*scope_);
    for (const Span::Attribute& attribute : span.attributes) SetAttribute(attribute, *encoded);
    if (span.failed) encoded->SetStatus(otel_trace::StatusCode::kError, "");
    return encoded;
  }

  // Spans in the queue refer to these two.
  const otel_sdk::resource::Resource resource_;
  const std::unique_ptr<otel_sdk::instrumentationscope::InstrumentationScope> scope_;
  otel_sdk::trace::SpanExporter& sender_;  // of queue_
  otel_sdk::trace::BatchSpanProcessor queue_;
};

bool IsEndpoint(absl::string_view endpoint) {
  if (!absl::ConsumePrefix(&endpoint, kHttp) && !absl::ConsumePrefix(&endpoint, kHttps)) {
    return false;
  }
  const std::optional<HostPort> parts = SplitHostPort(std::string(endpoint));
  return parts.has_value() && !parts->host.empty() && !parts->port.empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceExporter>> OpenTraceExporter(const std::string& endpoint) {
  if (endpoint.empty()) return nullptr;
  if (!IsEndpoint(endpoint)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--otlp-endpoint is ", endpoint, "; it must be http://HOST:PORT or https://HOST:PORT"));
  }
  LogForOpenTelemetry();
  otlp::OtlpGrpcExporterOptions options;  // as the variables OTEL_EXPORTER_OTLP_... say
  options.endpoint = endpoint;
  options.use_ssl_credentials = absl::StartsWith(endpoint, kHttps);
  return std::make_unique<OtlpTraceExporter>(otlp::OtlpGrpcExporterFactory::Create(options));
}

}  // namespace attune
