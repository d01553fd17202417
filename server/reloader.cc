#include "server/reloader.h"

#include <utility>

namespace attune {

Reloader::Reloader(std::function<void()> reload)
    : reload_(std::move(reload)), thread_([this] { Work(); }) {}

Reloader::~Reloader() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void Reloader::Request() {
  {
    MutexLock lock(mu_);
    requested_ = true;
  }
  changed_.NotifyAll();
}

void Reloader::Work() {
  for (;;) {
    {
      MutexLock lock(mu_);
      while (!requested_ && !stopping_) changed_.Wait(mu_);
      if (stopping_) return;
      requested_ = false;
    }
    reload_();
  }
}

}  // namespace attune
