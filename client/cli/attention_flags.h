// What `attention` and `export-html` take to say which map of which text.
#ifndef ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_
#define ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"
#include "client/cli/flags.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {

// Flags are read straight into a query, in groups that a command picks; a value that cannot be read
// is wrong usage. Must outlive the command line, at one place.
class AttentionFlags {
 public:
  AttentionFlags() = default;
  AttentionFlags(const AttentionFlags&) = delete;
  AttentionFlags& operator=(const AttentionFlags&) = delete;

  void AddTextTo(Flags& flags);       // TEXT, --pair, --token-ids, --truncate ...
  void AddSelectionTo(Flags& flags);  // --layer, --head
  void AddMatrixTo(Flags& flags);     // --matrix, --level, --specials ...
  void AddPartTo(Flags& flags);       // --head-reduction, --block, --queries ...
  void AddSparsityTo(Flags& flags);   // --top-k, --mass, --pool ...
  void AddEncodingTo(Flags& flags, v1::AttentionEncoding usual);
  void AddMaxBytesTo(Flags& flags);
  void AddChangesTo(Flags& flags);  // --ablate, --mask-tokens, --causal, --window
  void AddErasureTo(Flags& flags);
  void AddAnswersTo(Flags& flags);  // --statistics, --mixing-ratio, --want-embedding

  // For Flags::Check: kInvalidArgument unless there is one text, or with --pair two, and with
  // --token-ids nothing but ids.
  absl::Status CheckTexts() const;

  const std::vector<std::string>& texts() const { return texts_; }
  const TruncationFlags& truncation() const { return truncation_; }
  // What the flags say, the text included. REQUIRES: CheckTexts is OK.
  v1::AttentionQuery Query() const;

 private:
  template <typename Enum>
  Flag AddEnum(Flags& flags, const std::string& name, const std::string& description,
               std::function<void(Enum value)> set);
  Flag AddCount(Flags& flags, const std::string& name, const std::string& description,
                std::function<void(uint32_t value)> set);
  Flag AddSwitch(Flags& flags, const std::string& name, const std::string& description,
                 void (v1::AttentionQuery::*set)(bool));
  void AddMaskTo(Flags& flags);
  void AddRange(Flags& flags, const std::string& name, const std::string& description,
                v1::TokenRange* (v1::AttentionQuery::*field)());

  std::vector<std::string> texts_;
  bool pair_ = false;
  bool token_ids_ = false;
  TruncationFlags truncation_;
  v1::AttentionQuery query_;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_
