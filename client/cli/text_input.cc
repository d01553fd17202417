#include "client/cli/text_input.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/json.h"
#include "client/utf8.h"

namespace attune::cli {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::StatusOr<TokenIdList> TokenIdsFromJson(const Json& array) {
  if (!array.is_array()) return absl::InvalidArgumentError("\"token_ids\" is not an array");
  TokenIdList ids;
  for (const Json& value : array) {
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("not a token id: ", DumpJson(value)));
    }
    ids.push_back(value.get<uint32_t>());
  }
  return ids;
}

absl::StatusOr<TextPair> ParseTextPair(absl::string_view line) {
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos) {
    return absl::InvalidArgumentError("no tab between the two texts of a pair");
  }
  return TextPair{std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))};
}

}  // namespace

absl::StatusOr<TokenIdList> ParseTokenIds(absl::string_view text) {
  TokenIdList ids;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" ,\t"), absl::SkipEmpty())) {
    uint32_t id = 0;
    if (!absl::SimpleAtoi(word, &id)) {
      return absl::InvalidArgumentError(
          absl::StrCat("not a token id: \"", word, "\"; write ids as in \"101 7592 102\""));
    }
    ids.push_back(id);
  }
  if (ids.empty()) return absl::InvalidArgumentError("no token ids");
  return ids;
}

absl::Status TextReader::LineError(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ":", line_number_, ": ", what));
}

absl::StatusOr<bool> TextReader::ReadLine() {
  line_.clear();
  ++line_number_;
  std::streambuf& buffer = *in_.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  int byte = buffer.sbumpc();
  if (byte == kEnd) return false;
  for (; byte != kEnd && byte != '\n'; byte = buffer.sbumpc()) {
    if (line_.size() == kMaxLineBytes) {
      return LineError(absl::StrCat("the line is longer than ", kMaxLineBytes, " bytes"));
    }
    line_.push_back(static_cast<char>(byte));
  }
  bytes_read_ += line_.size() + (byte == '\n' ? 1 : 0);
  if (absl::EndsWith(line_, "\r")) line_.pop_back();
  if (line_number_ == 1 && absl::StartsWith(line_, kByteOrderMark)) {
    line_.erase(0, kByteOrderMark.size());
  }
  return true;
}

absl::StatusOr<std::optional<InputLine>> TextReader::Next() {
  do {
    const absl::StatusOr<bool> read = ReadLine();
    if (!read.ok()) return read.status();
    if (!*read) return std::nullopt;
  } while (format_ == InputFormat::kJsonLines && absl::StripAsciiWhitespace(line_).empty());
  if (const std::optional<size_t> bad = InvalidUtf8Offset(line_)) {
    return LineError(
        absl::StrFormat("not UTF-8: byte 0x%02x at column %d; convert the file, e.g. "
                        "with iconv -f LATIN1 -t UTF-8",
                        static_cast<unsigned char>(line_[*bad]), *bad + 1));
  }
  absl::StatusOr<EncodeInput> input =
      format_ == InputFormat::kJsonLines ? ParseJsonLine() : ParseLine();
  if (!input.ok()) return LineError(input.status().message());
  return InputLine{.line = line_number_, .input = *std::move(input)};
}

absl::StatusOr<EncodeInput> TextReader::ParseLine() const {
  if (kind_ == InputKind::kText) return line_;
  if (kind_ == InputKind::kTextPair) {
    absl::StatusOr<TextPair> pair = ParseTextPair(line_);
    if (!pair.ok()) return pair.status();
    return *std::move(pair);
  }
  absl::StatusOr<TokenIdList> ids = ParseTokenIds(line_);
  if (!ids.ok()) return ids.status();
  return *std::move(ids);
}

absl::StatusOr<EncodeInput> TextReader::ParseJsonLine() const {
  const absl::StatusOr<Json> json = ParseJson(line_);
  if (!json.ok()) return json.status();
  const char* field = kind_ == InputKind::kTokenIds ? "token_ids" : "text";
  if (!json->is_object() || !json->contains(field)) {
    return absl::InvalidArgumentError(absl::StrCat("not an object with \"", field, "\""));
  }
  const Json& value = (*json)[field];
  if (kind_ == InputKind::kTokenIds) {
    absl::StatusOr<TokenIdList> ids = TokenIdsFromJson(value);
    if (!ids.ok()) return ids.status();
    return *std::move(ids);
  }
  if (!value.is_string()) return absl::InvalidArgumentError("\"text\" is not a string");
  if (kind_ == InputKind::kText) return value.get<std::string>();
  if (!json->contains("text_pair") || !(*json)["text_pair"].is_string()) {
    return absl::InvalidArgumentError("no string \"text_pair\"");
  }
  return TextPair{value.get<std::string>(), (*json)["text_pair"].get<std::string>()};
}

}  // namespace attune::cli
