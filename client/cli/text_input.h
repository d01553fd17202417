// Reads texts, or lists of token ids, from a stream: one a line, or JSON lines.
#ifndef ATTUNE_CLIENT_CLI_TEXT_INPUT_H_
#define ATTUNE_CLIENT_CLI_TEXT_INPUT_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/client.h"

namespace attune::cli {

enum class InputFormat {
  kLines,  // every line is an input, blank ones too; "\r\n" ends a line as "\n" does
  // Every line is an object with "text" (or "token_ids"; of a pair also "text_pair"); blank lines
  // are skipped.
  kJsonLines,
};

// A pair on a line of text has a tab between its texts.
enum class InputKind { kText, kTokenIds, kTextPair };

// "101 7592 102", separated by spaces or commas. kInvalidArgument naming what is not an id.
absl::StatusOr<TokenIdList> ParseTokenIds(absl::string_view text);

struct InputLine {
  size_t line = 0;  // from 1
  EncodeInput input;
};

// Holds one line at a time. Thread-compatible.
class TextReader {
 public:
  // A longer line is refused: no server takes a text of this size.
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  // `name` stands for the stream in errors. `in` is borrowed.
  TextReader(std::istream& in, std::string name, InputFormat format, InputKind kind)
      : in_(in), name_(std::move(name)), format_(format), kind_(kind) {}

  // The next input; nullopt at the end. kInvalidArgument "NAME:LINE: ..." for a line that is not
  // UTF-8 (with the byte and its column), not JSON, or without the field.
  absl::StatusOr<std::optional<InputLine>> Next();

  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // Reads a line without its end into line_; false at the end of the stream.
  absl::StatusOr<bool> ReadLine();
  absl::StatusOr<EncodeInput> ParseLine() const;
  absl::StatusOr<EncodeInput> ParseJsonLine() const;
  absl::Status LineError(absl::string_view what) const;

  std::istream& in_;
  const std::string name_;
  const InputFormat format_;
  const InputKind kind_;
  std::string line_;
  size_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_TEXT_INPUT_H_
