#include "tests/bench/thread_team.h"

#include <pthread.h>
#include <sched.h>

#include "absl/strings/str_cat.h"

namespace attune::bench {
namespace {

std::vector<int> AllowedCpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

void PinThisThread(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<size_t>(cpu), &mask);
  pthread_setaffinity_np(pthread_self(), sizeof(mask), &mask);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadTeam>> ThreadTeam::Create(int threads) {
  std::vector<int> cpus = AllowedCpus();
  if (threads < 1 || static_cast<size_t>(threads) > cpus.size()) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", threads, "; must be 1 to ",
                                                   cpus.size(),
                                                   ", the processors this process may run on"));
  }
  cpus.resize(static_cast<size_t>(threads));
  return std::unique_ptr<ThreadTeam>(new ThreadTeam(cpus));
}

ThreadTeam::ThreadTeam(const std::vector<int>& cpus) {
  for (int member = 1; member < static_cast<int>(cpus.size()); ++member) {
    others_.emplace_back([this, member, cpu = cpus[static_cast<size_t>(member)]] {
      PinThisThread(cpu);
      Serve(member);
    });
  }
  PinThisThread(cpus.front());
}

ThreadTeam::~ThreadTeam() {
  {
    MutexLock lock(mu_);
    closed_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : others_) thread.join();
}

void ThreadTeam::Run(const std::function<void(int)>& work) {
  {
    MutexLock lock(mu_);
    work_ = &work;
    ++round_;
    running_ = static_cast<int>(others_.size());
  }
  changed_.NotifyAll();
  work(0);
  MutexLock lock(mu_);
  while (running_ > 0) changed_.Wait(mu_);
}

void ThreadTeam::Serve(int member) {
  for (int64_t done = 0;; ++done) {
    const std::function<void(int)>* work = nullptr;
    {
      MutexLock lock(mu_);
      while (round_ == done && !closed_) changed_.Wait(mu_);
      if (closed_) return;
      work = work_;
    }
    (*work)(member);
    {
      MutexLock lock(mu_);
      --running_;
    }
    changed_.NotifyAll();
  }
}

}  // namespace attune::bench
