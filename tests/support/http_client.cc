#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune::testing {

HttpReply ParseReply(const std::string& bytes) {
  HttpReply reply;
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return reply;
  const std::vector<std::string> lines = absl::StrSplit(bytes.substr(0, end), "\r\n");
  const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
  if (first.size() > 1 && !absl::SimpleAtoi(first[1], &reply.status)) reply.status = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
    reply.headers[absl::AsciiStrToLower(header.first)] = header.second;
  }
  reply.body = bytes.substr(end + 4);
  // "100 Continue" is only the beginning.
  return reply.status == 100 ? ParseReply(reply.body) : reply;
}

HttpConnection::HttpConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    std::perror("the test cannot connect");
    std::abort();
  }
}

HttpConnection::~HttpConnection() { close(fd_); }

void HttpConnection::Send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

HttpReply HttpConnection::ReadReply() {
  std::string bytes;
  char buffer[65536];
  while (true) {
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
    if (n <= 0) return ParseReply(bytes);
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

std::string GetRequest(const std::string& path, const std::string& headers) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n");
}

std::string PostRequest(const std::string& path, const std::string& json,
                        const std::string& headers) {
  return absl::StrCat("POST ", path,
                      " HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Length: ", json.size(), "\r\n",
                      headers, "\r\n", json);
}

HttpReply SendRequest(int port, const std::string& request) {
  HttpConnection connection(port);
  connection.Send(request);
  return connection.ReadReply();
}

HttpReply Get(int port, const std::string& path) { return SendRequest(port, GetRequest(path)); }

HttpReply Post(int port, const std::string& path, const std::string& json) {
  return SendRequest(port, PostRequest(path, json));
}

}  // namespace attune::testing
