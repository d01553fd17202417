// The log has nowhere to go any more: requests are answered all the same.

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/server_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::PortOf;
using ::attune::testing::ServerProgram;
using ::attune::testing::TempDir;
using ::attune::testing::TinyModel;

// The inodes of the sockets that a process has open.
std::set<std::string> SocketsOf(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;  // of a descriptor that was closed meanwhile
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    const std::string prefix = "socket:[";
    if (target.rfind(prefix, 0) != 0) continue;
    inodes.insert(target.substr(prefix.size(), target.size() - prefix.size() - 1));
  }
  return inodes;
}

// The port on which a process listens, or 0. Of several any: the test's server has one.
int ListeningPort(pid_t pid) {
  const std::set<std::string> sockets = SocketsOf(pid);
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream file(absl::StrCat("/proc/", pid, table));
    std::string line;
    std::getline(file, line);  // the headings
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
          timeout >> inode;
      constexpr char kListening[] = "0A";
      if (state != kListening || sockets.count(inode) == 0) continue;
      return std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16);
    }
  }
  return 0;
}

// A server whose log goes to `errors_to`, or to a pipe.
class LogOutputTest : public ::testing::Test {
 protected:
  void Start(const std::string& errors_to) {
    program_.emplace(std::vector<std::string>{"--grpc-address", "127.0.0.1:0", "--model",
                                              model_.path(), "--precision", "f32", "--drain-delay",
                                              "0s", "--access-log", "true"},
                     std::vector<std::string>{}, errors_to);
  }

  // Once it serves.
  void Connect(int port) {
    stub_ = v1::EncoderService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
    while (!Encode(*stub_, {"the cat"}).status.ok()) absl::SleepFor(absl::Milliseconds(5));
  }

  // Every call writes a line.
  void ExpectThatItServesAndStops() {
    const EncodeResult first = Encode(*stub_, {"the cat"});
    ASSERT_THAT(first.status, IsGrpcOk());
    for (int i = 0; i < 50; ++i) {
      const EncodeResult next = Encode(*stub_, {"the cat"});
      ASSERT_THAT(next.status, IsGrpcOk());
      EXPECT_EQ(next.response.SerializeAsString(), first.response.SerializeAsString());
    }
    program_->Signal(SIGTERM);
    EXPECT_EQ(program_->Wait(), 0);
  }

  const TinyModel model_;
  std::optional<ServerProgram> program_;
  std::unique_ptr<v1::EncoderService::Stub> stub_;
};

TEST_F(LogOutputTest, AReaderThatWentAwayIsNotMissed) {
  Start("");
  const int port = PortOf(program_->ReadUntil("\"port\":"));
  ASSERT_NE(program_->ReadUntil("\"serving\""), "");
  program_->StopReading();
  Connect(port);
  ExpectThatItServesAndStops();
}

TEST_F(LogOutputTest, ADiskThatIsFullFromTheStartIsNoReasonNotToServe) {
  Start("/dev/full");
  int port = 0;
  while ((port = ListeningPort(program_->pid())) == 0) absl::SleepFor(absl::Milliseconds(5));
  Connect(port);
  ExpectThatItServesAndStops();
}

TEST_F(LogOutputTest, AFileThatMayNotGrowIsNoReasonToEnd) {
  const TempDir dir;
  dir.Write("log", "");
  Start(dir.Path("log"));
  while (dir.Read("log").find("\"serving\"") == std::string::npos) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  const rlimit no_more{.rlim_cur = 1, .rlim_max = 1};
  ASSERT_EQ(prlimit(program_->pid(), RLIMIT_FSIZE, &no_more, nullptr), 0);
  const std::string log = dir.Read("log");
  Connect(PortOf(log.substr(0, log.find('\n', log.find("\"port\":")))));
  ExpectThatItServesAndStops();
}

}  // namespace
}  // namespace attune
