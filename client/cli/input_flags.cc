#include "client/cli/input_flags.h"

#include <sys/stat.h>

#include <cerrno>
#include <iostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"

namespace attune::cli {
namespace {

std::string NameOf(const std::string& path) { return path == "-" ? "standard input" : path; }

InputFormat FormatOf(const InputFlags& flags) {
  if (flags.format == "jsonl") return InputFormat::kJsonLines;
  if (flags.format.empty() && absl::EndsWith(flags.path, ".jsonl")) return InputFormat::kJsonLines;
  return InputFormat::kLines;
}

}  // namespace

void InputFlags::AddTo(Flags& flags) {
  const Flag arguments = flags.Add("text", texts, "The texts, one an argument");
  flags.Add("-i,--input", path, "Read texts from FILE, one a line; - is standard input")
      .Takes("FILE")
      .Excludes(arguments);
  flags
      .Add("--input-format", format,
           "How FILE is read; jsonl is one object with \"text\" a line (default: jsonl if "
           "FILE ends in .jsonl, else text)")
      .OneOf({"text", "jsonl"});
}

absl::Status InputFlags::ChooseInput() {
  if (kind == InputKind::kTextPair && texts.size() % 2 != 0) {
    return absl::InvalidArgumentError("a pair is two arguments, but their number is odd");
  }
  if (!texts.empty() || !path.empty()) return absl::OkStatus();
  if (StdinIsTerminal()) {
    return absl::InvalidArgumentError("no text: give it as an argument, or --input FILE");
  }
  path = std::string("-");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<InputSource>> InputSource::Open(const InputFlags& flags) {
  std::unique_ptr<InputSource> source(new InputSource(flags));
  if (flags.path.empty()) return source;
  std::istream* in = &std::cin;
  if (flags.path != "-") {
    struct stat info;
    if (stat(flags.path.c_str(), &info) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", flags.path));
    }
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(flags.path, " is a directory"));
    }
    if (S_ISREG(info.st_mode)) source->total_bytes_ = static_cast<uint64_t>(info.st_size);
    source->file_.open(flags.path, std::ios::binary);
    if (!source->file_) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", flags.path));
    }
    in = &source->file_;
  }
  source->reader_ =
      std::make_unique<TextReader>(*in, NameOf(flags.path), FormatOf(flags), flags.kind);
  return source;
}

absl::StatusOr<std::optional<EncodeInput>> InputSource::Next() {
  if (reader_ != nullptr) {
    absl::StatusOr<std::optional<InputLine>> line = reader_->Next();
    if (!line.ok()) return line.status();
    if (!*line) return std::nullopt;
    lines_.push_back((*line)->line);
    return std::move((*line)->input);
  }
  if (next_argument_ == flags_.texts.size()) return std::nullopt;
  const std::string& argument = flags_.texts[next_argument_];
  lines_.push_back(++next_argument_);
  if (flags_.kind == InputKind::kText) return argument;
  if (flags_.kind == InputKind::kTextPair)
    return TextPair{argument, flags_.texts[next_argument_++]};
  absl::StatusOr<TokenIdList> ids = ParseTokenIds(argument);
  if (!ids.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument ", next_argument_, ": ", ids.status().message()));
  }
  return *std::move(ids);
}

void InputSource::Delivered() {
  lines_.pop_front();
  ++delivered_;
}

std::string InputSource::Place(size_t index) const {
  const size_t line = lines_[index - delivered_];
  return reader_ == nullptr ? absl::StrCat("argument ", line)
                            : absl::StrCat(NameOf(flags_.path), ":", line);
}

}  // namespace attune::cli
