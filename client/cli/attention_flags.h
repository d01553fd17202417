// What `attention` and `export-html` take to say which map of which text.
#ifndef ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_
#define ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {

// Flags are read straight into a query, in groups that a command picks; a value that cannot be read
// is wrong usage. Must outlive the CLI::App, at one place.
class AttentionFlags {
 public:
  AttentionFlags() = default;
  AttentionFlags(const AttentionFlags&) = delete;
  AttentionFlags& operator=(const AttentionFlags&) = delete;

  void AddTextTo(CLI::App& app);       // TEXT, --pair, --token-ids, --truncate ...
  void AddSelectionTo(CLI::App& app);  // --layer, --head
  void AddMatrixTo(CLI::App& app);     // --matrix, --level, --specials ...
  void AddPartTo(CLI::App& app);       // --head-reduction, --block, --queries ...
  void AddSparsityTo(CLI::App& app);   // --top-k, --mass, --pool ...
  void AddEncodingTo(CLI::App& app, v1::AttentionEncoding usual);
  void AddMaxBytesTo(CLI::App& app);
  void AddChangesTo(CLI::App& app);  // --ablate, --mask-tokens, --causal, --window
  void AddErasureTo(CLI::App& app);
  void AddAnswersTo(CLI::App& app);  // --statistics, --mixing-ratio, --want-embedding

  // For the command's parse_complete_callback: throws a CLI::ValidationError unless there is one
  // text, or with --pair two, and with --token-ids nothing but ids.
  void RequireTexts() const;

  const std::vector<std::string>& texts() const { return texts_; }
  const TruncationFlags& truncation() const { return truncation_; }
  // What the flags say, the text included. REQUIRES: RequireTexts has not thrown.
  v1::AttentionQuery Query() const;

 private:
  using Reader = std::function<absl::Status(absl::string_view text)>;

  // An option whose values `read` puts into query_.
  CLI::Option* Add(CLI::App& app, const std::string& name, const std::string& description,
                   Reader read);
  template <typename Enum>
  CLI::Option* AddEnum(CLI::App& app, const std::string& name, const std::string& description,
                       std::function<void(Enum value)> set);
  CLI::Option* AddCount(CLI::App& app, const std::string& name, const std::string& description,
                        std::function<void(uint32_t value)> set);
  CLI::Option* AddSwitch(CLI::App& app, const std::string& name, const std::string& description,
                         void (v1::AttentionQuery::*set)(bool));
  void AddMaskTo(CLI::App& app);
  void AddRange(CLI::App& app, const std::string& name, const std::string& description,
                v1::TokenRange* (v1::AttentionQuery::*field)());

  std::vector<std::string> texts_;
  bool pair_ = false;
  bool token_ids_ = false;
  TruncationFlags truncation_;
  v1::AttentionQuery query_;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ATTENTION_FLAGS_H_
