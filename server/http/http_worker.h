#ifndef ATTUNE_SERVER_HTTP_HTTP_WORKER_H_
#define ATTUNE_SERVER_HTTP_HTTP_WORKER_H_

#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/http/connection.h"
#include "server/http/json_call.h"
#include "server/http/request_check.h"
#include "server/security/port_guard.h"

namespace attune {

// What all workers of a port share. Borrowed descriptors; `stop` becomes readable when they are to
// end.
struct HttpPort {
  CallGate* gate = nullptr;
  const PortGuard* guard = nullptr;  // null: everybody is served, unencrypted
  CallMonitor* monitor = nullptr;
  const std::atomic<bool>* ready = nullptr;
  int listening = -1;
  int stop = -1;
  // Answer only requests for a loopback name.
  bool check_host = true;
  int64_t max_body_bytes = 0;
  absl::Duration io_timeout;
  absl::Duration max_deadline;
};

// One thread's share of the HTTP port: it takes a connection from the kernel, answers the one
// request on it, and closes it. So there are never more connections than workers, none is held
// without a request being served, and nothing is queued but by the kernel. httplib parses the
// request and writes the reply; its own listener and thread pool, which have no such bounds, stay
// unused. Used by one thread.
class HttpWorker : private httplib::Server {
 public:
  explicit HttpWorker(const HttpPort& port);
  ~HttpWorker() override = default;

  // Serves until port.stop is readable.
  void Run();

 protected:
  // The methods that `path` takes, "GET, HEAD", or nothing for a path that does not exist.
  virtual absl::string_view AllowedMethods(absl::string_view path) const;
  // Answers a GET or HEAD that is allowed.
  virtual void HandleGet(const httplib::Request& request, httplib::Response& response);
  static void Reply(httplib::Response& response, int http_status, absl::string_view type,
                    std::string body);

  const HttpPort& port() const { return port_; }

 private:
  // Waits for the next connection; none when the worker is to end.
  FileDescriptor Accept() const;
  void ServeConnection(FileDescriptor socket);
  // Parses and answers one request. A template, since the signature that it adapts to differs
  // between the httplib of Debian 12 and that of Debian 13.
  template <typename Parser>
  static void ProcessRequest(Parser& parser, Connection& connection);

  // What httplib leaves without an answer.
  static void RefuseFirstLine(Connection& connection);

  // Of any request, once its headers are read: the answer, if they are enough for one.
  HandlerResponse HandleHeaders(const httplib::Request& request, httplib::Response& response);
  void HandlePost(const httplib::Request& request, httplib::Response& response,
                  const httplib::ContentReader& reader);
  // Gives errors that httplib found by itself the form of ours.
  void CompleteError(httplib::Response& response) const;

  static void ReplyError(httplib::Response& response, int http_status, const absl::Status& status);
  static void ReplyError(httplib::Response& response, const absl::Status& status);

  // Runs the method that `request` asks for, as a call that is recorded.
  void CallMethod(const httplib::Request& request, absl::string_view body,
                  httplib::Response& response);
  // The reply of the method at `path`, once there is one; or why it is not waited for any longer.
  absl::StatusOr<std::string> AwaitReply(absl::string_view path, absl::string_view body,
                                         const std::shared_ptr<CallRecord>& record);

  const HttpPort port_;
  // Of the request that is being served.
  Connection* connection_ = nullptr;
  std::string client_;  // as Call's
  std::shared_ptr<JsonCall> json_call_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HTTP_WORKER_H_
