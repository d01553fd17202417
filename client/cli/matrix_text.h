// Numbers in rows and columns, for people.
#ifndef ATTUNE_CLIENT_CLI_MATRIX_TEXT_H_
#define ATTUNE_CLIENT_CLI_MATRIX_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune::cli {

// Four significant decimals: "0.4223", "11", "1.23e-05".
std::string FormatNumber(double value);

// `title`, the size, and the row-major `values` [rows, cols] as far as they fit `width` columns and
// twelve rows; says what it left out. Lines end in '\n'.
std::string MatrixText(absl::string_view title, absl::Span<const float> values, size_t rows,
                       size_t cols, int width);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_MATRIX_TEXT_H_
