#ifndef ATTUNE_SERVER_SECURITY_TOKEN_TABLE_H_
#define ATTUNE_SERVER_SECURITY_TOKEN_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

// The bearer tokens that a server accepts: who holds each, and its SHA-256, so that whoever reads
// the file cannot call. Immutable.
class TokenTable {
 public:
  // One NAME:SHA256 a line, the digest as 64 hex digits; empty lines and lines that begin with '#'
  // are skipped. A name may come twice, for a token and its successor. kInvalidArgument naming the
  // line for anything else, also for a file without tokens, which would lock everybody out. No
  // message holds a digest.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Whose token this is; null if nobody's. How long it takes does not depend on which entry, or how
  // much of one, it resembles. The name lives as long as the table.
  const std::string* FindHolder(absl::string_view token) const;

  size_t size() const { return entries_.size(); }

  friend bool operator==(const TokenTable&, const TokenTable&) = default;

 private:
  struct Entry {
    std::string name;
    std::string sha256;  // 64 lower-case hex digits
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  static absl::StatusOr<Entry> ParseLine(absl::string_view line);

  std::vector<Entry> entries_;
};

// OK for 1 to 64 letters, digits, '.', '_' and '-'.
absl::Status CheckTokenName(absl::string_view name);

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_TOKEN_TABLE_H_
