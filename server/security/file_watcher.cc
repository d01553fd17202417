#include "server/security/file_watcher.h"

#include <utility>

#include "absl/status/statusor.h"
#include "engine/base/clock.h"

namespace attune {

FileWatcher::FileWatcher(std::vector<std::string> paths, absl::Duration interval,
                         std::function<void()> on_change)
    : paths_(std::move(paths)),
      interval_(interval),
      on_change_(std::move(on_change)),
      thread_([this] { Run(); }) {}

FileWatcher::~FileWatcher() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
    stopped_changed_.NotifyAll();
  }
  thread_.join();
}

void FileWatcher::Run() {
  Stamps latest = Look();
  std::optional<Stamps> reported;
  while (WaitForNextLook()) {
    Stamps now = Look();
    const bool at_rest = now == latest;
    latest = std::move(now);
    if (!at_rest || latest == reported) continue;
    reported = latest;
    on_change_();
  }
}

FileWatcher::Stamps FileWatcher::Look() const {
  Stamps stamps;
  for (const std::string& path : paths_) {
    const absl::StatusOr<FileReader> file = FileReader::Open(path);
    stamps.push_back(file.ok() ? std::optional(file->stamp()) : std::nullopt);
  }
  return stamps;
}

bool FileWatcher::WaitForNextLook() {
  const absl::Time next = SteadyNow() + interval_;
  MutexLock lock(mu_);
  while (!stopped_ && SteadyNow() < next) stopped_changed_.WaitFor(mu_, next - SteadyNow());
  return !stopped_;
}

}  // namespace attune
