#include "server/http/ops_worker.h"

#include <algorithm>
#include <string>

#include "server/open_calls_page.h"

namespace attune {
namespace {

constexpr absl::string_view kPaths[] = {"/metrics", "/livez", "/readyz", "/debug/calls"};

}  // namespace

absl::string_view OpsWorker::AllowedMethods(absl::string_view path) const {
  const bool known = std::find(std::begin(kPaths), std::end(kPaths), path) != std::end(kPaths);
  return known ? "GET, HEAD" : "";
}

void OpsWorker::HandleGet(const httplib::Request& request, httplib::Response& response) {
  if (request.path == "/metrics") {
    Metrics& metrics = port().monitor->metrics();
    return Reply(response, 200, Metrics::kContentType, metrics.Text());
  }
  if (request.path == "/debug/calls") {
    return Reply(response, 200, "application/json", OpenCallsPage(*port().monitor));
  }
  HttpWorker::HandleGet(request, response);  // the probes
}

}  // namespace attune
