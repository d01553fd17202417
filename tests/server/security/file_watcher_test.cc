#include "server/security/file_watcher.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::TempDir;

constexpr absl::Duration kInterval = absl::Milliseconds(10);

// Counts calls, and lets a test wait for the next one.
class Calls {
 public:
  void Add() {
    MutexLock lock(mu_);
    ++count_;
    changed_.NotifyAll();
  }
  // Ends with the test's own time limit if there never are so many.
  void WaitFor(int count) {
    MutexLock lock(mu_);
    while (count_ < count) changed_.Wait(mu_);
  }
  int count() {
    MutexLock lock(mu_);
    return count_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(FileWatcherTest, ReportsTheFirstLookAndEachChange) {
  const TempDir files;
  files.Write("a", "1");
  Calls calls;
  FileWatcher watcher({files.Path("a"), files.Path("b")}, kInterval, [&] { calls.Add(); });
  calls.WaitFor(1);
  files.Write("a", "22");
  calls.WaitFor(2);
  files.Write("b", "appears");
  calls.WaitFor(3);
  files.Remove("a");
  calls.WaitFor(4);
}

TEST(FileWatcherTest, SeesALinkThatPointsElsewhere) {
  // How Kubernetes replaces the files of a secret.
  const TempDir files;
  files.Write("old", "1");
  files.Write("new", "2");
  std::filesystem::create_symlink(files.Path("old"), files.Path("link"));
  Calls calls;
  FileWatcher watcher({files.Path("link")}, kInterval, [&] { calls.Add(); });
  calls.WaitFor(1);
  std::filesystem::create_symlink(files.Path("new"), files.Path("next"));
  std::filesystem::rename(files.Path("next"), files.Path("link"));
  calls.WaitFor(2);
}

TEST(FileWatcherTest, EndsAtOnceHoweverLongItsInterval) {
  const TempDir files;
  Calls calls;
  {
    FileWatcher watcher({files.Path("a")}, absl::Hours(1), [&] { calls.Add(); });
  }
  EXPECT_EQ(calls.count(), 0);
}

}  // namespace
}  // namespace attune
