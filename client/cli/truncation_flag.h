// --truncate and --max-tokens, as every command takes them that sends texts.
#ifndef ATTUNE_CLIENT_CLI_TRUNCATION_FLAG_H_
#define ATTUNE_CLIENT_CLI_TRUNCATION_FLAG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "attune/v1/attune.pb.h"
#include "client/cli/flags.h"

namespace attune::cli {

struct TruncationFlags {
  std::string side = "right";
  std::optional<uint32_t> max_tokens;

  // `group` is the heading in the help.
  void AddSideTo(Flags& flags, const std::string& group = "Options");  // --truncate alone
  void AddTo(Flags& flags, const std::string& group = "Options");
  v1::Truncation truncation() const;

  // Sets the fields of that name, which Encode, AttentionMap and Tokenize share.
  template <typename Message>
  void SetOn(Message& message) const {
    message.set_truncation(truncation());
    if (max_tokens) message.set_max_tokens(*max_tokens);
  }

  // Says on standard error how many of `texts` were cut, if any were.
  void WarnAboutCuts(size_t cut, size_t texts) const;
  // Likewise how many are longer than what the model was trained for, which not every server takes.
  void WarnAboutLength(size_t beyond, size_t texts) const;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_TRUNCATION_FLAG_H_
