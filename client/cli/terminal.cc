#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace attune::cli {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kMinWidth = 40;

absl::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool StdinIsTerminal() { return isatty(STDIN_FILENO) == 1; }
bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

int TerminalWidth() {
  winsize size{};
  int width = kDefaultWidth;
  if (StdoutIsTerminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (int columns = 0; absl::SimpleAtoi(Environment("COLUMNS"), &columns)) {
    width = columns;
  }
  return std::max(width, kMinWidth);
}

bool UseColor() {
  return StdoutIsTerminal() && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

}  // namespace attune::cli
