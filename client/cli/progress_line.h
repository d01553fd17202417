// A line on standard error that says how far bulk work has come.
#ifndef ATTUNE_CLIENT_CLI_PROGRESS_LINE_H_
#define ATTUNE_CLIENT_CLI_PROGRESS_LINE_H_

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace attune::cli {

struct Progress {
  uint64_t texts = 0;
  uint64_t tokens = 0;  // 0: not counted
  uint64_t input_bytes = 0;
  // Absent: the input has no known end.
  std::optional<uint64_t> total_input_bytes = std::nullopt;
};

// "[######------]  50 %  1200 texts, 340 texts/s, 9000 tokens/s, 0:03 left", without the bar and
// the time left if the total is unknown.
std::string FormatProgress(const Progress& progress, absl::Duration elapsed);

// Draws at most ten times a second, and wipes the line in the end. Thread-compatible.
class ProgressLine {
 public:
  // Draws nothing unless `enabled`. `out` is borrowed.
  ProgressLine(std::FILE* out, bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(const Progress& progress);
  // Draws `text` at once, for a last step without numbers.
  void Show(const std::string& text);

 private:
  std::FILE* const out_;
  const bool enabled_;
  const absl::Time start_;
  absl::Time last_drawn_ = absl::InfinitePast();
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_PROGRESS_LINE_H_
