#ifndef ATTUNE_SERVER_SECURITY_FILE_WATCHER_H_
#define ATTUNE_SERVER_SECURITY_FILE_WATCHER_H_

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "engine/base/file_reader.h"
#include "engine/base/mutex.h"

namespace attune {

// Looks at some files every `interval`, in a thread of its own, and calls `on_change` there when
// any of them has become another and all have then stayed as they are for one interval: so a
// certificate and its key that are written one after the other are seen together. It is also
// called once after the start, for a change that came between the owner's first look and ours.
class FileWatcher {
 public:
  FileWatcher(std::vector<std::string> paths, absl::Duration interval,
              std::function<void()> on_change);
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;
  // Waits for a call that is running.
  ~FileWatcher();

 private:
  // What the files were at a moment; nothing for one that cannot be opened.
  using Stamps = std::vector<std::optional<FileStamp>>;

  void Run();
  Stamps Look() const;
  // False when the watch is over.
  bool WaitForNextLook();

  const std::vector<std::string> paths_;
  const absl::Duration interval_;
  const std::function<void()> on_change_;

  Mutex mu_;
  CondVar stopped_changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_FILE_WATCHER_H_
