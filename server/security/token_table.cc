#include "server/security/token_table.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/sha256.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

constexpr size_t kDigestDigits = 64;
constexpr size_t kMaxNameBytes = 64;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

bool IsHexDigit(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

}  // namespace

absl::Status CheckTokenName(absl::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes &&
      std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a name has 1 to ", kMaxNameBytes, " letters, digits, '.', '_' and '-'"));
}

absl::StatusOr<TokenTable::Entry> TokenTable::ParseLine(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError("it is not of the form NAME:SHA256");
  }
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view digest = line.substr(colon + 1);
  ATTUNE_RETURN_IF_ERROR(CheckTokenName(name));
  if (digest.size() != kDigestDigits || !std::all_of(digest.begin(), digest.end(), IsHexDigit)) {
    return absl::InvalidArgumentError(absl::StrCat("the SHA-256 after the name has ", digest.size(),
                                                   " characters; it must be ", kDigestDigits,
                                                   " hex digits"));
  }
  return Entry{std::string(name), absl::AsciiStrToLower(digest)};
}

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text) {
  TokenTable table;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<Entry> entry = ParseLine(line);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", entry.status().message()));
    }
    for (const Entry& other : table.entries_) {
      if (other.sha256 == entry->sha256) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", number, ": the token is that of ", other.name, " already"));
      }
    }
    table.entries_.push_back(*std::move(entry));
  }
  if (table.entries_.empty()) {
    return absl::InvalidArgumentError("it has no token, so nobody could call");
  }
  return table;
}

const std::string* TokenTable::FindHolder(absl::string_view token) const {
  const std::string digest = Sha256Hex(token);
  const std::string* holder = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.sha256.data(), digest.data(), kDigestDigits) == 0) {
      holder = &entry.name;
    }
  }
  return holder;
}

}  // namespace attune
