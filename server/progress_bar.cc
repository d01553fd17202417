#include "server/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace attune {
namespace {

constexpr int64_t kCells = 32;
constexpr const char* kWipeLine = "\r\x1b[K";

}  // namespace

std::string FormatProgressBar(absl::string_view label, int64_t done, int64_t total) {
  const int64_t percent = total <= 0 ? 100 : std::clamp<int64_t>(done * 100 / total, 0, 100);
  const auto filled = static_cast<size_t>(kCells * percent / 100);
  return absl::StrFormat("%s [%s%s] %3d %%", label, std::string(filled, '#'),
                         std::string(kCells - filled, '-'), percent);
}

ProgressBar::ProgressBar(absl::string_view label, int64_t total)
    : label_(label), total_(total), enabled_(isatty(STDERR_FILENO) == 1) {
  Update(0);
}

ProgressBar::~ProgressBar() {
  if (enabled_) std::fputs(kWipeLine, stderr);
}

void ProgressBar::Update(int64_t done) {
  if (!enabled_) return;
  std::string bar = FormatProgressBar(label_, done, total_);
  if (bar == drawn_) return;
  drawn_ = std::move(bar);
  std::fputs(absl::StrCat(kWipeLine, drawn_).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace attune
