// A bar on a terminal's standard error for work that has a known end.
#ifndef ATTUNE_SERVER_PROGRESS_BAR_H_
#define ATTUNE_SERVER_PROGRESS_BAR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// "bf16 [######------]  50 %".
std::string FormatProgressBar(absl::string_view label, int64_t done, int64_t total);

// Draws each new percent, and wipes the line in the end. Draws nothing where standard error is no
// terminal. Thread-compatible.
class ProgressBar {
 public:
  ProgressBar(absl::string_view label, int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(int64_t done);

 private:
  const std::string label_;
  const int64_t total_;
  const bool enabled_;
  std::string drawn_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_PROGRESS_BAR_H_
