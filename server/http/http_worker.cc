#include "server/http/http_worker.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/codec/json_codec.h"
#include "server/error_details.h"
#include "server/http/dashboard.h"
#include "server/http/http_status.h"
#include "server/peer_client.h"
#include "server/request_id.h"
#include "server/retry_delay.h"

namespace attune {
namespace {

constexpr int64_t kMaxHeadBytes = 64 << 10;

// How long to leave a listener alone that has run out of descriptors.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(10);

// A page of ours loads and asks nothing but us, and nobody frames it.
constexpr char kContentSecurityPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

httplib::Headers DefaultHeaders() {
  return {{"Content-Security-Policy", kContentSecurityPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

// The standard header has whole seconds; the other is what clients of HTTP APIs agreed on.
void SetRetryAfter(absl::Duration delay, httplib::Response& response) {
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(delay, absl::Seconds(1)));
  response.set_header("Retry-After", absl::StrCat(std::max(seconds, int64_t{1})));
  response.set_header("retry-after-ms", absl::StrCat(absl::ToInt64Milliseconds(delay)));
}

// For what the process has too little of at the moment.
absl::Status ShortOf(ErrorReason reason, absl::string_view what) {
  return WithRetryDelay(
      WithReason(absl::ResourceExhaustedError(absl::StrCat("the server is short of ", what)),
                 reason),
      RetryDelay(kUnmeasuredWait));
}

bool IsProbe(absl::string_view path) { return path == "/livez" || path == "/readyz"; }

// Probes have no tokens, and the page, which is the same for everybody, must load to ask for one.
bool IsOpenToAll(absl::string_view path) {
  return IsProbe(path) || FindDashboardFile(path) != nullptr;
}

bool IsAllowed(absl::string_view method, absl::string_view allowed) {
  return method == "POST" ? allowed.find("POST") != absl::string_view::npos
                          : (method == "GET" || method == "HEAD") && allowed != "POST";
}

// The order of several lines tells which system a call passed last, and httplib does not keep it.
std::string OnlyLineOf(const httplib::Request& request, const std::string& header) {
  return request.get_header_value_count(header) == 1 ? request.get_header_value(header) : "";
}

// Before httplib acts on them: no compressed replies, which cost more than they save on a machine's
// own network, and no parts of replies.
void PrepareRequest(httplib::Request& request) {
  request.headers.erase("Accept-Encoding");
  request.ranges.clear();
}

}  // namespace

void HttpWorker::Reply(httplib::Response& response, int http_status, absl::string_view type,
                       std::string body) {
  response.status = http_status;
  response.set_header("Content-Type", std::string(type));
  response.body = std::move(body);
}

void HttpWorker::ReplyError(httplib::Response& response, int http_status,
                            const absl::Status& status) {
  if (http_status == 401) response.set_header("WWW-Authenticate", "Bearer realm=\"attune\"");
  if (const std::optional<absl::Duration> delay = RetryDelayOf(status)) {
    SetRetryAfter(*delay, response);
  }
  Reply(response, http_status, "application/json", EncodeJsonStatus(status));
}

void HttpWorker::ReplyError(httplib::Response& response, const absl::Status& status) {
  ReplyError(response, HttpStatusOf(status.code()), status);
}

absl::string_view HttpWorker::AllowedMethods(absl::string_view path) const {
  if (IsProbe(path) || FindDashboardFile(path) != nullptr) return "GET, HEAD";
  switch (KindOfPath(path)) {
    case PathKind::kUnknown:
      return "";
    case PathKind::kMethod:
      return "POST";
    case PathKind::kReadOnlyMethod:
      return "GET, HEAD, POST";
  }
  return "";
}

HttpWorker::HttpWorker(const HttpPort& port) : port_(port) {
  set_default_headers(DefaultHeaders());
  set_payload_max_length(static_cast<size_t>(port.max_body_bytes));
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return HandleHeaders(request, response);
  });
  Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
    HandleGet(request, response);
  });
  Post(".*",
       [this](const httplib::Request& request, httplib::Response& response,
              const httplib::ContentReader& reader) { HandlePost(request, response, reader); });
  set_error_handler([this](const httplib::Request& /*request*/, httplib::Response& response) {
    CompleteError(response);
  });
  set_exception_handler([](const httplib::Request& /*request*/, httplib::Response& response,
                           std::exception_ptr /*exception*/) {
    // Only allocations throw here.
    ReplyError(response, ShortOf(ErrorReason::kOutOfMemory, "memory"));
  });
}

void HttpWorker::Run() {
  while (true) {
    FileDescriptor socket = Accept();
    if (socket.get() < 0) return;
    try {
      ServeConnection(std::move(socket));
    } catch (const std::bad_alloc&) {
      Log(LogLevel::kWarning, "http_out_of_memory", "a connection was closed unanswered", {});
    }
  }
}

FileDescriptor HttpWorker::Accept() const {
  while (true) {
    pollfd fds[] = {{port_.listening, POLLIN, 0}, {port_.stop, POLLIN, 0}};
    poll(fds, std::size(fds), -1);
    if (fds[1].revents != 0) return FileDescriptor();
    FileDescriptor socket(accept4(port_.listening, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.get() >= 0) {
      const int on = 1;
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      return socket;
    }
    // Another worker was faster, or the client has gone already; else descriptors ran out.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      absl::SleepFor(kAcceptPause);
    }
  }
}

template <typename Parser>
void HttpWorker::ProcessRequest(Parser& parser, Connection& connection) {
  constexpr bool kCloseAfterwards = true;
  bool closed = false;
  if constexpr (requires {
                  parser.process_request(connection, kCloseAfterwards, closed, PrepareRequest);
                }) {
    parser.process_request(connection, kCloseAfterwards, closed, PrepareRequest);
  } else {
    parser.process_request(connection, "", 0, "", 0, kCloseAfterwards, closed, PrepareRequest);
  }
}

void HttpWorker::ServeConnection(FileDescriptor socket) {
  // Kept for as long as the connection lives, which may see the next one replace it.
  const std::shared_ptr<const TlsIdentity> identity =
      port_.guard == nullptr || port_.guard->tls == nullptr ? nullptr : port_.guard->tls->current();
  Connection connection(
      Socket(std::move(socket), identity == nullptr ? nullptr : identity->context.get()),
      port_.stop, {port_.io_timeout, kMaxHeadBytes});
  connection_ = &connection;
  ProcessRequest(*this, connection);
  if (connection.head_excess() == HeadMeter::Excess::kFirstLine) RefuseFirstLine(connection);
  json_call_.reset();  // now that its reply is written
  connection.CloseGently();
}

void HttpWorker::RefuseFirstLine(Connection& connection) {
  httplib::Response response;
  response.headers = DefaultHeaders();
  ReplyError(response, 414,
             absl::InvalidArgumentError(HeadMeter::Describe(connection.head_excess())));
  std::string reply = "HTTP/1.1 414 URI Too Long\r\nConnection: close\r\n";
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&reply, name, ": ", value, "\r\n");
  }
  absl::StrAppend(&reply, "Content-Length: ", response.body.size(), "\r\n\r\n", response.body);
  connection.write(reply.data(), reply.size());
}

httplib::Server::HandlerResponse HttpWorker::HandleHeaders(const httplib::Request& request,
                                                           httplib::Response& response) {
  std::optional<Refusal> refusal;
  if (port_.check_host) refusal = CheckHost(request);
  client_ = ClientOfPeer(connection_->peer());
  if (!refusal.has_value() && port_.guard != nullptr && !IsOpenToAll(request.path)) {
    absl::StatusOr<std::string> holder = FindTokenHolder(request, *port_.guard->authenticator);
    if (!holder.ok()) refusal = {401, holder.status()};
    if (holder.ok() && !holder->empty()) client_ = *std::move(holder);
  }
  const absl::string_view allowed = AllowedMethods(request.path);
  if (!refusal.has_value() && allowed.empty()) {
    refusal = {404, absl::UnimplementedError("there is nothing at this path")};
  }
  if (!refusal.has_value() && !IsAllowed(request.method, allowed)) {
    response.set_header("Allow", std::string(allowed));
    refusal = {405, absl::UnimplementedError(absl::StrCat("this path takes ", allowed))};
  }
  if (!refusal.has_value()) {
    refusal = request.method == "POST" ? CheckJsonBody(request, port_.max_body_bytes)
                                       : CheckNoBody(request);
  }
  if (!refusal.has_value()) return HandlerResponse::Unhandled;
  ReplyError(response, refusal->http_status, refusal->status);
  return HandlerResponse::Handled;
}

void HttpWorker::HandleGet(const httplib::Request& request, httplib::Response& response) {
  if (const DashboardFile* file = FindDashboardFile(request.path)) {
    return Reply(response, 200, file->content_type, std::string(file->bytes));
  }
  if (!IsProbe(request.path)) return CallMethod(request, "{}", response);
  const bool fine = request.path == "/livez" || port_.ready->load();
  Reply(response, fine ? 200 : 503, "text/plain", fine ? "ok\n" : "not ready\n");
}

void HttpWorker::HandlePost(const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& reader) {
  connection_->ExpectBody(BodyBytes(request));
  std::string body;
  const bool complete = reader([&body](const char* data, size_t size) {
    body.append(data, size);
    return true;
  });
  if (!complete) {
    response.status = 400;  // CompleteError says more
    return;
  }
  CallMethod(request, body, response);
}

void HttpWorker::CallMethod(const httplib::Request& request, absl::string_view body,
                            httplib::Response& response) {
  const std::string request_id = request.get_header_value(kRequestIdHeader);
  const std::string traceparent = request.get_header_value("traceparent");
  const std::string tracestate = OnlyLineOf(request, "tracestate");
  const std::shared_ptr<CallRecord> record =
      port_.monitor->Begin({.method = MethodOfPath(request.path),
                            .transport = Transport::kHttp,
                            .peer = connection_->peer(),
                            .request_id = request_id,
                            .traceparent = traceparent,
                            .tracestate = {tracestate}});
  response.set_header(kRequestIdHeader, record->origin().request_id);
  record->AddRequestBytes(static_cast<int64_t>(body.size()));
  absl::StatusOr<std::string> reply = AwaitReply(request.path, body, record);
  if (reply.ok()) record->AddResponseBytes(static_cast<int64_t>(reply->size()));
  record->Finish(reply.status());
  if (!reply.ok()) return ReplyError(response, reply.status());
  Reply(response, 200, "application/json", *std::move(reply));
}

absl::StatusOr<std::string> HttpWorker::AwaitReply(absl::string_view path, absl::string_view body,
                                                   const std::shared_ptr<CallRecord>& record) {
  const absl::Time deadline = SteadyNow() + port_.max_deadline;
  const auto call = std::make_shared<Call>(deadline, client_, WorkClass::kInteractive, record);
  json_call_ = NewJsonCall(path, *port_.gate);
  if (json_call_->done() < 0) return ShortOf(ErrorReason::kOutOfDescriptors, "file descriptors");
  json_call_->Start(body, call);
  switch (connection_->WaitFor(json_call_->done(), deadline)) {
    case Connection::WaitResult::kReady:
      return json_call_->TakeReply();
    case Connection::WaitResult::kClosed:
      call->Cancel();
      return absl::CancelledError("the caller went away");
    case Connection::WaitResult::kTimeout:
      break;
  }
  call->Cancel();
  return absl::DeadlineExceededError("the deadline passed before the work was done");
}

void HttpWorker::CompleteError(httplib::Response& response) const {
  if (!response.body.empty()) return;
  switch (connection_->failure()) {
    case Connection::Failure::kTimeout:
      return ReplyError(
          response, 408,
          absl::DeadlineExceededError(absl::StrCat("the request did not arrive within ",
                                                   absl::FormatDuration(port_.io_timeout))));
    case Connection::Failure::kTooLarge:
      return ReplyError(response, 431,
                        absl::ResourceExhaustedError(
                            absl::StrCat("the headers have more than ", kMaxHeadBytes, " bytes")));
    case Connection::Failure::kHeadTooLarge:
      return ReplyError(
          response, 431,
          absl::ResourceExhaustedError(HeadMeter::Describe(connection_->head_excess())));
    case Connection::Failure::kNone:
    case Connection::Failure::kClosed:
      return ReplyError(response, response.status,
                        absl::InvalidArgumentError("the request is not well-formed HTTP/1.1"));
  }
}

}  // namespace attune
