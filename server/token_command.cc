#include "server/token_command.h"

#include <openssl/rand.h>

#include <cstdio>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "engine/base/sha256.h"
#include "server/security/token_table.h"

namespace attune {
namespace {

// As many as the digest has, so that guessing the token is no easier than finding its digest.
constexpr size_t kRandomBytes = 32;

constexpr char kUsage[] =
    "Usage: attune-server token NAME\n"
    "Prints a new random token, which NAME keeps to itself, and below it the line that lets NAME\n"
    "in, for the server's --token-file:\n"
    "\n"
    "  attune-server token alice > new\n"
    "  head -1 new > alice.token && tail -1 new >> tokens && rm new\n"
    "  attune-server --token-file tokens\n"
    "  attune encode --token-file alice.token \"Hello, world.\"\n";

}  // namespace

int RunTokenCommand(int argc, char** argv) {
  const absl::string_view name = argc == 2 ? argv[1] : "";
  if (name == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (const absl::Status status = CheckTokenName(name); !status.ok()) {
    std::fprintf(stderr, "attune-server: token: %s (see attune-server token --help)\n",
                 std::string(status.message()).c_str());
    return 2;
  }
  std::string random(kRandomBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), kRandomBytes) != 1) {
    std::fputs("attune-server: token: the system gives no random bytes\n", stderr);
    return 1;
  }
  std::string token = absl::WebSafeBase64Escape(random);
  std::printf("%s\n%s:%s\n", token.c_str(), argv[1], Sha256Hex(token).c_str());
  return 0;
}

}  // namespace attune
