#include "client/cli/connection_flags.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/server_target.h"

namespace attune::cli {
namespace {

// A flag whose value is what the file holds that the command line, or a variable, names.
Flag AddFile(Flags& flags, const std::string& name, std::string& content, const std::string& help) {
  const auto read = [&content](absl::string_view path) {
    std::ifstream file(std::string(path), std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    absl::StripAsciiWhitespace(&content);
    if (!content.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the file ", path, " is empty or cannot be read"));
  };
  return flags.AddRead(name, read, help).Takes("FILE");
}

}  // namespace

void AddConnectionFlags(Flags& flags, ClientOptions& options) {
  flags
      .Add("-s,--server", options.address,
           "The server's address. Several servers share the calls: IP:PORT,IP:PORT,..., or a name "
           "that resolves to them")
      .Takes("HOST:PORT")
      .Variable("ATTUNE_SERVER")
      .Valid([](absl::string_view address) { return ParseServerAddress(address).status(); })
      .ShowDefault();
  Flag authority =
      AddFile(flags, "--tls-ca", options.tls_ca,
              "Speak TLS, and trust servers with a certificate of this authority (PEM)")
          .Variable("ATTUNE_TLS_CA");
  flags
      .Add("--tls-name", options.tls_name,
           "The name in the servers' certificates, if not that of --server")
      .Takes("NAME")
      .Variable("ATTUNE_TLS_NAME")
      .Needs(authority);
  Flag certificate = AddFile(flags, "--tls-cert", options.tls_cert,
                             "Your certificate (PEM), for a server that asks for one")
                         .Variable("ATTUNE_CLIENT_TLS_CERT");
  Flag key = AddFile(flags, "--tls-key", options.tls_key, "Its private key (PEM)")
                 .Variable("ATTUNE_CLIENT_TLS_KEY");
  certificate.Needs(authority).Needs(key);
  key.Needs(certificate);
  // A command line is there for everybody on the machine to see, so it never holds the token.
  if (const char* token = std::getenv("ATTUNE_TOKEN")) options.token = token;
  AddFile(flags, "--token-file", options.token,
          "File with your token; else the variable ATTUNE_TOKEN is the token");
}

}  // namespace attune::cli
