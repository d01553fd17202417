// The file of tokens: any bytes give a table that knows its tokens, or an error that shows none of
// them. The first line is tried as a token.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "server/security/token_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<attune::TokenTable> table = attune::TokenTable::Parse(text);
  if (!table.ok()) {
    ATTUNE_CHECK(!table.status().message().empty() && table.status().message().size() < 256);
    return 0;
  }
  ATTUNE_CHECK(table->size() > 0);
  const std::string* holder = table->FindHolder(text.substr(0, text.find('\n')));
  ATTUNE_CHECK(holder == nullptr || attune::CheckTokenName(*holder).ok());
  return 0;
}
