#include "server/reloader.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

// Reloads that wait for the test: it sees each begin, and lets it end.
class Reloads {
 public:
  void Run() {
    MutexLock lock(mu_);
    ++begun_;
    changed_.NotifyAll();
    while (may_end_ < begun_) changed_.Wait(mu_);
  }

  void WaitUntilBegun(int count) {
    MutexLock lock(mu_);
    while (begun_ < count) changed_.Wait(mu_);
  }

  void LetEnd(int count) {
    MutexLock lock(mu_);
    may_end_ = count;
    changed_.NotifyAll();
  }

  int begun() {
    MutexLock lock(mu_);
    return begun_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int begun_ ABSL_GUARDED_BY(mu_) = 0;
  int may_end_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(ReloaderTest, RequestsDuringAReloadBecomeOneMore) {
  Reloads reloads;
  {
    Reloader reloader([&reloads] { reloads.Run(); });
    reloader.Request();
    reloads.WaitUntilBegun(1);
    for (int i = 0; i < 5; ++i) reloader.Request();
    EXPECT_EQ(reloads.begun(), 1);
    reloads.LetEnd(1);
    reloads.WaitUntilBegun(2);
    reloads.LetEnd(10);
  }
  EXPECT_EQ(reloads.begun(), 2);
}

TEST(ReloaderTest, EndsWithoutARequest) {
  Reloads reloads;
  {
    Reloader reloader([&reloads] { reloads.Run(); });
  }
  EXPECT_EQ(reloads.begun(), 0);
}

}  // namespace
}  // namespace attune
