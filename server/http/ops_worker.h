#ifndef ATTUNE_SERVER_HTTP_OPS_WORKER_H_
#define ATTUNE_SERVER_HTTP_OPS_WORKER_H_

#include <httplib.h>

#include "absl/strings/string_view.h"
#include "server/http/http_worker.h"

namespace attune {

// One thread's share of the operator's port: pages about the server, and no method of the API. It
// never waits for the workers. Used by one thread.
class OpsWorker final : public HttpWorker {
 public:
  // Of `port`, the gate and the limits of calls are not used.
  explicit OpsWorker(const HttpPort& port) : HttpWorker(port) {}

 private:
  absl::string_view AllowedMethods(absl::string_view path) const override;
  void HandleGet(const httplib::Request& request, httplib::Response& response) override;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_OPS_WORKER_H_
