#include "server/http/request_check.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/json.h"
#include "server/http/host_port.h"

namespace attune {
namespace {

Refusal BadRequest(absl::string_view message) { return {400, absl::InvalidArgumentError(message)}; }

Refusal UnsupportedType(absl::string_view message) {
  return {415, absl::InvalidArgumentError(message)};
}

// Digits only, and no more than an int64 holds.
std::optional<int64_t> ParseLength(const std::string& text) {
  int64_t length = 0;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (!absl::SimpleAtoi(text, &length)) return std::nullopt;
  return length;
}

bool IsJson(absl::string_view content_type) {
  const absl::string_view type = content_type.substr(0, content_type.find(';'));
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(type), "application/json");
}

}  // namespace

std::optional<Refusal> CheckHost(const httplib::Request& request) {
  const std::string value = request.get_header_value("Host");
  const std::optional<HostPort> host = SplitHostPort(value);
  if (request.get_header_value_count("Host") == 1 && host.has_value() &&
      IsLoopbackHost(host->host)) {
    return std::nullopt;
  }
  return Refusal{421, absl::InvalidArgumentError(absl::StrCat(
                          "the Host header is ", QuoteJson(ShortenForMessage(value)),
                          "; this server listens on a loopback address and answers only to "
                          "localhost, 127.0.0.1 and [::1]"))};
}

absl::StatusOr<std::string> FindTokenHolder(const httplib::Request& request,
                                            const Authenticator& authenticator) {
  std::vector<absl::string_view> authorization;
  const auto [begin, end] = request.headers.equal_range("Authorization");
  for (auto header = begin; header != end; ++header) authorization.push_back(header->second);
  return authenticator.Authenticate(authorization);
}

std::optional<Refusal> CheckNoBody(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  if (request.has_header("Transfer-Encoding") || (!length.empty() && length != "0")) {
    return BadRequest(absl::StrCat("a ", request.method, " has no body"));
  }
  return std::nullopt;
}

std::optional<Refusal> CheckJsonBody(const httplib::Request& request, int64_t max_bytes) {
  if (request.has_header("Transfer-Encoding") || !request.has_header("Content-Length")) {
    return Refusal{411, absl::InvalidArgumentError(
                            "a request states its Content-Length; chunked bodies are not taken")};
  }
  const std::optional<int64_t> length = ParseLength(request.get_header_value("Content-Length"));
  if (request.get_header_value_count("Content-Length") != 1 || !length.has_value()) {
    return BadRequest("Content-Length is not one number");
  }
  if (*length > max_bytes) {
    return Refusal{413, absl::ResourceExhaustedError(absl::StrCat(
                            "the body has ", *length, " bytes; the limit is ", max_bytes))};
  }
  if (request.has_header("Content-Encoding")) {
    return UnsupportedType("Content-Encoding is set; only plain bodies are taken");
  }
  const std::string type = request.get_header_value("Content-Type");
  if (!IsJson(type)) {
    return UnsupportedType(absl::StrCat("Content-Type is ", QuoteJson(ShortenForMessage(type)),
                                        "; it must be application/json"));
  }
  return std::nullopt;
}

int64_t BodyBytes(const httplib::Request& request) {
  return ParseLength(request.get_header_value("Content-Length")).value_or(0);
}

}  // namespace attune
