#include "client/cli/report.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/display.h"
#include "client/error_details.h"

namespace attune::cli {
namespace {

std::string Rounded(absl::Duration delay) {
  return absl::FormatDuration(absl::Ceil(delay, absl::Milliseconds(100)));
}

std::string NextStep(const absl::Status& status, const ClientOptions& options) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::StrCat("No server is ready at ", options.address,
                          ". Start one with: attune-server\n"
                          "or name another with --server HOST:PORT or ATTUNE_SERVER, with "
                          "--tls-ca if it speaks TLS. "
                          "`attune health --wait 60` waits for one that is loading.");
    case absl::StatusCode::kUnauthenticated:
      return "This server asks for a token: name the file that holds yours with --token-file, or "
             "set ATTUNE_TOKEN.";
    case absl::StatusCode::kDeadlineExceeded:
      return absl::StrCat("There was no answer within ", absl::FormatDuration(options.deadline),
                          ". Give it longer with --timeout, or send less at a time.");
    case absl::StatusCode::kResourceExhausted:
      if (const auto delay = RetryDelayOfError(status)) {
        return absl::StrCat("The server is full: try again in ", Rounded(*delay), ".");
      }
      return "The server is full: try again in a while. If a message was too large: send less at "
             "a time; `attune info` shows the limits.";
    case absl::StatusCode::kUnimplemented:
      return "This server does not offer that; `attune info` shows its version.";
    case absl::StatusCode::kFailedPrecondition:
      return "`attune info` shows which model is served.";
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return "This is a fault of the server or of the connection; its log says more.";
    default:
      return "";  // the message says what to change
  }
}

}  // namespace

std::string DescribeError(const absl::Status& status, const ClientOptions& options) {
  const std::optional<std::string> reason = ReasonOfError(status);
  std::string text = absl::StrCat("attune: ", PrintableMessage(status.message()), " (",
                                  absl::StatusCodeToString(status.code()),
                                  reason ? ", " + PrintableMessage(*reason) : "", ")\n");
  const std::string next_step = NextStep(status, options);
  if (!next_step.empty()) absl::StrAppend(&text, PrintableMessage(next_step), "\n");
  return text;
}

}  // namespace attune::cli
