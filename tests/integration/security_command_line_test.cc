// From `attune-server token` to a call of `attune` over TLS, as an operator and a user go about it.

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::KeyPair;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunProgram;
using ::attune::testing::TempDir;
using ::attune::testing::TestAuthority;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct NewToken {
  std::string token;
  std::string line;
};

NewToken MakeToken(const std::string& name) {
  const ProgramResult result =
      RunProgram(std::getenv("ATTUNE_SERVER_BINARY"), {.arguments = {"token", name}});
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n');
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(lines, SizeIs(3)) << result.out;
  return lines.size() == 3 ? NewToken{lines[0], lines[1] + "\n"} : NewToken();
}

class SecurityCommandLineTest : public ::testing::Test {
 protected:
  SecurityCommandLineTest() {
    files_.Write("ca.pem", authority_.certificate());
    WritePair("server", authority_.Issue());
    WritePair("client", authority_.Issue());
    const NewToken alice = MakeToken("alice");
    token_ = alice.token;
    files_.Write("tokens", alice.line);
    files_.Write("alice.token", alice.token + "\n");
  }

  void WritePair(const std::string& name, const KeyPair& pair) const {
    files_.Write(name + ".pem", pair.certificate);
    files_.Write(name + ".key", pair.key);
  }

  ServerOptions Options() const {
    ServerOptions options = TestOptions(model_.path());
    options.tls_cert = files_.Path("server.pem");
    options.tls_key = files_.Path("server.key");
    options.tls_client_ca = files_.Path("ca.pem");
    options.token_file = files_.Path("tokens");
    return options;
  }

  static ProgramResult RunAttune(std::vector<std::string> arguments,
                                 std::vector<std::string> environment = {}) {
    return RunProgram(ATTUNE_PROGRAM,
                      {.arguments = std::move(arguments), .environment = std::move(environment)});
  }

  // The flags that lead to `server` by TLS.
  std::vector<std::string> Connected(const TestServer& server,
                                     std::vector<std::string> command) const {
    return Connected(server.address(), std::move(command));
  }
  std::vector<std::string> Connected(const std::string& address,
                                     std::vector<std::string> command) const {
    for (const std::string& argument :
         {std::string("--server"), address, std::string("--tls-ca"), files_.Path("ca.pem"),
          std::string("--tls-cert"), files_.Path("client.pem"), std::string("--tls-key"),
          files_.Path("client.key")}) {
      command.push_back(argument);
    }
    return command;
  }

  const TinyModel model_;
  const TempDir files_;
  const TestAuthority authority_;
  std::string token_;
};

TEST_F(SecurityCommandLineTest, ATokenFromTheServersOwnCommandLetsTheUserIn) {
  const TestServer server(Options());
  std::vector<std::string> encode = Connected(server, {"encode", "the cat"});
  const ProgramResult by_variable = RunAttune(encode, {"ATTUNE_TOKEN=" + token_});
  EXPECT_EQ(by_variable.exit_code, 0) << by_variable.err;
  encode.insert(encode.end(), {"--token-file", files_.Path("alice.token")});
  const ProgramResult by_file = RunAttune(encode, {"ATTUNE_TOKEN=another"});
  EXPECT_EQ(by_file.exit_code, 0) << by_file.err;
  EXPECT_EQ(by_file.out, by_variable.out);
}

TEST_F(SecurityCommandLineTest, WithoutATokenTheUserIsToldHowToGiveOne) {
  const TestServer server(Options());
  const ProgramResult result = RunAttune(Connected(server, {"info"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("UNAUTHENTICATED"), HasSubstr("--token-file"),
                                HasSubstr("ATTUNE_TOKEN")));
  const ProgramResult wrong = RunAttune(Connected(server, {"info"}), {"ATTUNE_TOKEN=wrong-one"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("UNAUTHENTICATED"), Not(HasSubstr("wrong-one"))));
}

TEST_F(SecurityCommandLineTest, HealthNeedsNoToken) {
  const TestServer server(Options());
  const ProgramResult result = RunAttune(Connected(server, {"health"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(SecurityCommandLineTest, AListOfServersIsTrustedByTheNameInTheirCertificates) {
  const TestServer first(Options());
  const TestServer second(Options());
  std::vector<std::string> encode =
      Connected(absl::StrCat(first.address(), ",", second.address()), {"encode", "the cat"});
  encode.insert(encode.end(), {"--tls-name", "localhost"});
  const ProgramResult trusted = RunAttune(encode, {"ATTUNE_TOKEN=" + token_});
  EXPECT_EQ(trusted.exit_code, 0) << trusted.err;
  encode.back() = "elsewhere";
  const ProgramResult refused = RunAttune(encode, {"ATTUNE_TOKEN=" + token_});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("UNAVAILABLE"));
}

TEST_F(SecurityCommandLineTest, EachTokenIsNewAndItsLineDoesNotHoldIt) {
  const NewToken first = MakeToken("bob");
  const NewToken second = MakeToken("bob");
  EXPECT_NE(first.token, second.token);
  EXPECT_GE(first.token.size(), 43u);
  EXPECT_THAT(first.line, AllOf(HasSubstr("bob:"), Not(HasSubstr(first.token))));
}

TEST_F(SecurityCommandLineTest, MistakesAreNamed) {
  const ProgramResult name =
      RunProgram(std::getenv("ATTUNE_SERVER_BINARY"), {.arguments = {"token", "two words"}});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("a name has 1 to 64"));
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"info", "--tls-ca", "/no/such/file"}, "/no/such/file is empty or cannot be read"},
      {{"info", "--token-file", "/no/such/file"}, "/no/such/file is empty or cannot be read"},
      {{"info", "--tls-cert", files_.Path("client.pem")}, "--tls-cert requires"},
      {{"info", "--token", "x"}, "--token"},
  };
  for (const auto& [arguments, message] : mistakes) {
    const ProgramResult result = RunAttune(arguments);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.out + result.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace attune
