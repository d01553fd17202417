#include "client/cli/display.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/utf8.h"

namespace attune::cli {
namespace {

// Embeddings, overrides, isolates and marks of direction; line and paragraph separators.
bool ChangesLayout(char32_t c) {
  return c == 0x061C || (c >= 0x200E && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

std::string EscapeCodePoint(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  return absl::StrFormat("\\u{%x}", static_cast<uint32_t>(c));
}

enum class Keep { kNothing, kLineFeedsAndBackslashes };

std::string Escape(absl::string_view text, Keep keep) {
  std::string result;
  result.reserve(text.size());
  const bool keep_some = keep == Keep::kLineFeedsAndBackslashes;
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    if (!c.valid) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (keep_some && (c.code_point == '\n' || c.code_point == '\\')) {
      result.push_back(text[0]);
    } else if (c.code_point == '\\') {
      result += "\\\\";
    } else if (IsControl(c.code_point) || ChangesLayout(c.code_point)) {
      result += EscapeCodePoint(c.code_point);
    } else {
      absl::StrAppend(&result, text.substr(0, c.bytes));
    }
    text.remove_prefix(c.bytes);
  }
  return result;
}

// wcwidth knows the widths of Unicode only in a UTF-8 locale, so this thread gets one for the
// duration; the user's own locale may be "C".
class ScopedUtf8Locale {
 public:
  ScopedUtf8Locale() {
    static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (kUtf8 != nullptr) previous_ = uselocale(kUtf8);
  }
  ~ScopedUtf8Locale() {
    if (previous_ != nullptr) uselocale(previous_);
  }
  ScopedUtf8Locale(const ScopedUtf8Locale&) = delete;
  ScopedUtf8Locale& operator=(const ScopedUtf8Locale&) = delete;

 private:
  locale_t previous_ = nullptr;
};

// REQUIRES: a ScopedUtf8Locale.
int CharacterWidth(char32_t c) {
  const int width = wcwidth(static_cast<wchar_t>(c));
  return width < 0 ? 1 : width;  // unassigned: most terminals draw a box
}

}  // namespace

std::string Printable(absl::string_view text) { return Escape(text, Keep::kNothing); }

std::string PrintableMessage(absl::string_view text) {
  return Escape(text, Keep::kLineFeedsAndBackslashes);
}

int DisplayWidth(absl::string_view text) {
  const ScopedUtf8Locale locale;
  int width = 0;
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    width += c.valid ? CharacterWidth(c.code_point) : 1;
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string FitWidth(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  const ScopedUtf8Locale locale;
  int used = 0;
  size_t end = 0;
  while (end < text.size()) {
    const Utf8Character c = DecodeUtf8(text.substr(end));
    const int next = c.valid ? CharacterWidth(c.code_point) : 1;
    if (used + next > width - 1) break;
    used += next;
    end += c.bytes;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

std::string PadRight(absl::string_view text, int width) {
  const int missing = std::max(0, width - DisplayWidth(text));
  return absl::StrCat(text, std::string(static_cast<size_t>(missing), ' '));
}

std::string PadLeft(absl::string_view text, int width) {
  const int missing = std::max(0, width - DisplayWidth(text));
  return absl::StrCat(std::string(static_cast<size_t>(missing), ' '), text);
}

std::vector<std::string> SplitCells(absl::string_view text) {
  const ScopedUtf8Locale locale;
  std::vector<std::string> cells;
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    const std::string piece(text.substr(0, c.bytes));
    const bool combining = c.valid && CharacterWidth(c.code_point) == 0;
    if (combining && !cells.empty()) {
      cells.back() += piece;
    } else {
      cells.push_back(piece);
    }
    text.remove_prefix(c.bytes);
  }
  return cells;
}

}  // namespace attune::cli
