// Where a command's texts come from: arguments, a file or standard input.
#ifndef ATTUNE_CLIENT_CLI_INPUT_FLAGS_H_
#define ATTUNE_CLIENT_CLI_INPUT_FLAGS_H_

#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/flags.h"
#include "client/cli/text_input.h"

namespace attune::cli {

struct InputFlags {
  std::vector<std::string> texts;
  std::string path;
  std::string format;  // "", "text" or "jsonl"
  InputKind kind = InputKind::kText;

  // Adds TEXT..., --input and --input-format.
  void AddTo(Flags& flags);
  // For Flags::Check: without texts and FILE, settles on standard input; kInvalidArgument if that
  // is a terminal.
  absl::Status ChooseInput();
};

// The inputs in order, with a place to name for each. Thread-compatible.
class InputSource {
 public:
  // kNotFound and the like if the file cannot be opened. `flags` must outlive the source.
  static absl::StatusOr<std::unique_ptr<InputSource>> Open(const InputFlags& flags);

  // nullopt at the end.
  absl::StatusOr<std::optional<EncodeInput>> Next();

  // Forgets the place of the oldest input that is still remembered.
  void Delivered();
  // "words.txt:12" or "argument 3" of input `index`; REQUIRES: read and not Delivered.
  std::string Place(size_t index) const;

  uint64_t bytes_read() const { return reader_ == nullptr ? 0 : reader_->bytes_read(); }
  // Absent unless the input is a regular file.
  std::optional<uint64_t> total_bytes() const { return total_bytes_; }

 private:
  explicit InputSource(const InputFlags& flags) : flags_(flags) {}

  const InputFlags& flags_;
  size_t next_argument_ = 0;
  std::ifstream file_;
  std::unique_ptr<TextReader> reader_;  // null: the inputs are arguments
  std::optional<uint64_t> total_bytes_;
  std::deque<size_t> lines_;  // of inputs delivered_, delivered_ + 1, ...
  size_t delivered_ = 0;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_INPUT_FLAGS_H_
