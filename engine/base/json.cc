#include "engine/base/json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

constexpr size_t kMessageValueBytes = 120;

// Builds the document from SAX events, which is what lets it see a key for the second time, and
// stop at a depth before the parser's own recursion or memory does.
class StrictBuilder {
 public:
  enum class Keeps { kEverything, kOnlyTheOutermostType };

  StrictBuilder(const JsonLimits& limits, Keeps keeps) : limits_(limits), keeps_(keeps) {}

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string& /*literal*/) {
    if (!std::isfinite(value)) return Fail("a number is out of range");
    return Add(value);
  }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return Fail("binary values are not JSON"); }

  bool start_object(size_t /*size*/) { return Open(Json::object()); }
  bool end_object() { return Close(); }
  bool start_array(size_t /*size*/) { return Open(Json::array()); }
  bool end_array() { return Close(); }

  bool key(std::string& value) {
    if (!Count()) return false;
    if (!stack_.back().keys.insert(value).second) {
      return Fail(absl::StrCat("duplicate key ", QuoteJson(ShortenForMessage(value))));
    }
    stack_.back().key = std::move(value);
    return true;
  }

  bool parse_error(size_t offset, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    // The library's text carries its own error number first: "[json.exception...] message".
    const std::string what = error.what();
    const size_t end = what.find("] ");
    return Fail(
        absl::StrCat("not valid JSON at byte ", offset, ": ",
                     ShortenForMessage(end == std::string::npos ? what : what.substr(end + 2))));
  }

  const std::string& error() const { return error_; }
  Json TakeRoot() { return std::move(root_); }

 private:
  // An array or object that is still open. Owned here and moved into its parent when it closes:
  // pointers into a growing ordered_json would dangle.
  struct OpenValue {
    Json value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool Fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }

  bool Count() {
    if (++values_ <= limits_.max_values) return true;
    return Fail(absl::StrCat("more than ", limits_.max_values, " keys and values"));
  }

  bool Add(Json value) {
    if (!Count()) return false;
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (keeps_ == Keeps::kOnlyTheOutermostType) {
      // Nothing: arrays and objects stay empty.
    } else if (stack_.back().value.is_array()) {
      stack_.back().value.push_back(std::move(value));
    } else {
      // The key is known to be new, so append without ordered_json's linear search.
      auto& object = stack_.back().value.get_ref<Json::object_t&>();
      static_cast<Json::object_t::Container&>(object).emplace_back(std::move(stack_.back().key),
                                                                   std::move(value));
    }
    return true;
  }

  bool Open(Json value) {
    if (stack_.size() >= static_cast<size_t>(limits_.max_depth)) {
      return Fail(absl::StrCat("nested deeper than ", limits_.max_depth, " levels"));
    }
    stack_.push_back({std::move(value), {}, {}});
    return true;
  }

  bool Close() {
    Json value = std::move(stack_.back().value);
    stack_.pop_back();
    return Add(std::move(value));
  }

  const JsonLimits limits_;
  const Keeps keeps_;
  size_t values_ = 0;
  std::vector<OpenValue> stack_;
  Json root_;
  std::string error_;
};

absl::StatusOr<Json> Parse(absl::string_view text, const JsonLimits& limits,
                           StrictBuilder::Keeps keeps) {
  // The parser would take a NUL for the end of the text and ignore what follows it.
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("not valid JSON at byte ", nul, ": a NUL"));
  }
  StrictBuilder builder(limits, keeps);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(builder.error());
  }
  return builder.TakeRoot();
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text, const JsonLimits& limits) {
  return Parse(text, limits, StrictBuilder::Keeps::kEverything);
}

absl::StatusOr<Json::value_t> CheckJson(absl::string_view text, const JsonLimits& limits) {
  ATTUNE_ASSIGN_OR_RETURN(const Json outline,
                          Parse(text, limits, StrictBuilder::Keeps::kOnlyTheOutermostType));
  return outline.type();
}

std::string ShortenForMessage(absl::string_view text) {
  if (text.size() <= kMessageValueBytes) return std::string(text);
  size_t end = kMessageValueBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Shown(const Json& value) { return ShortenForMessage(DumpJson(value)); }

std::optional<int64_t> AsInt64(const Json& value) {
  // The parser keeps what is below zero as int64 and the rest as uint64.
  const bool fits =
      value.is_number_unsigned()
          ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
          : value.is_number_integer();
  return fits ? std::optional<int64_t>(value.get<int64_t>()) : std::nullopt;
}

std::string QuoteJson(absl::string_view text) { return DumpJson(Json(std::string(text))); }

}  // namespace attune
