// Text that is safe and aligned on a terminal, whatever it holds.
#ifndef ATTUNE_CLIENT_CLI_DISPLAY_H_
#define ATTUNE_CLIENT_CLI_DISPLAY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace attune::cli {

// `text` with everything that could steer a terminal made visible: control characters (C0, DEL, C1)
// and marks that change the direction of text become "\n", "\t" or "\u{1b}", bytes that are not
// UTF-8 become "\xff", and a backslash is doubled.
std::string Printable(absl::string_view text);

// As Printable, but lets line feeds through and backslashes as they are: for messages, which a
// person reads and nothing parses.
std::string PrintableMessage(absl::string_view text);

// Terminal columns that printable `text` takes: 2 for East Asian wide characters and most emoji, 0
// for combining marks.
int DisplayWidth(absl::string_view text);

// Printable `text`, cut to at most `width` columns; "…" in the last column shows a cut.
std::string FitWidth(absl::string_view text, int width);

// Printable `text` with spaces up to `width` columns, after it or before it.
std::string PadRight(absl::string_view text, int width);
std::string PadLeft(absl::string_view text, int width);

// `text` in pieces that each take at least one column: a character with its combining marks.
std::vector<std::string> SplitCells(absl::string_view text);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_DISPLAY_H_
