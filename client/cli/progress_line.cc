#include "client/cli/progress_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace attune::cli {
namespace {

constexpr absl::Duration kMinRedraw = absl::Milliseconds(100);
constexpr size_t kBarCells = 24;
constexpr const char* kWipeLine = "\r\x1b[K";

std::string FormatMinutes(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
}

}  // namespace

std::string FormatProgress(const Progress& progress, absl::Duration elapsed) {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-3);
  std::string line = absl::StrFormat("%d texts, %.0f texts/s", progress.texts,
                                     static_cast<double>(progress.texts) / seconds);
  if (progress.tokens > 0) {
    absl::StrAppendFormat(&line, ", %.0f tokens/s", static_cast<double>(progress.tokens) / seconds);
  }
  if (!progress.total_input_bytes || *progress.total_input_bytes == 0) return line;
  const double done = std::min(1.0, static_cast<double>(progress.input_bytes) /
                                        static_cast<double>(*progress.total_input_bytes));
  const size_t filled = static_cast<size_t>(done * kBarCells);
  if (done > 0) {
    absl::StrAppend(&line, ", ", FormatMinutes(elapsed * (1 - done) / done), " left");
  }
  return absl::StrFormat("[%s%s] %3.0f %%  %s", std::string(filled, '#'),
                         std::string(kBarCells - filled, '-'), done * 100, line);
}

ProgressLine::ProgressLine(std::FILE* out, bool enabled)
    : out_(out), enabled_(enabled), start_(absl::Now()) {}

ProgressLine::~ProgressLine() {
  if (last_drawn_ != absl::InfinitePast()) std::fputs(kWipeLine, out_);
}

void ProgressLine::Update(const Progress& progress) {
  const absl::Time now = absl::Now();
  if (!enabled_ || now - last_drawn_ < kMinRedraw) return;
  Show(FormatProgress(progress, now - start_));
}

void ProgressLine::Show(const std::string& text) {
  if (!enabled_) return;
  last_drawn_ = absl::Now();
  std::fputs(absl::StrCat(kWipeLine, text).c_str(), out_);
  std::fflush(out_);
}

}  // namespace attune::cli
