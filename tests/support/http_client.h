// A raw HTTP/1.1 client for a server that closes after each reply: what is sent is up to the test.
#ifndef ATTUNE_TESTS_SUPPORT_HTTP_CLIENT_H_
#define ATTUNE_TESTS_SUPPORT_HTTP_CLIENT_H_

#include <map>
#include <string>

namespace attune::testing {

struct HttpReply {
  int status = 0;                              // 0: the connection was closed without a reply
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// A connection to 127.0.0.1. Aborts the test process if there is none to be had.
class HttpConnection {
 public:
  explicit HttpConnection(int port);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  // Sends all bytes, as far as the server takes them.
  void Send(const std::string& bytes);
  // Everything until the server closes.
  HttpReply ReadReply();

 private:
  int fd_;
};

// "GET /path HTTP/1.1" with a Host header and more header lines, each ending in "\r\n".
std::string GetRequest(const std::string& path, const std::string& headers = "");
std::string PostRequest(const std::string& path, const std::string& json,
                        const std::string& headers = "Content-Type: application/json\r\n");

// A reply as it came over the wire.
HttpReply ParseReply(const std::string& bytes);

HttpReply SendRequest(int port, const std::string& request);
HttpReply Get(int port, const std::string& path);
HttpReply Post(int port, const std::string& path, const std::string& json);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_HTTP_CLIENT_H_
