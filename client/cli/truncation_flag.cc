#include "client/cli/truncation_flag.h"

#include <cstdio>

#include "absl/strings/str_format.h"

namespace attune::cli {

void TruncationFlags::AddSideTo(Flags& flags, const std::string& group) {
  flags
      .Add("--truncate", side,
           "Which end of a text with too many tokens to cut off; error refuses it")
      .OneOf({"right", "left", "error"})
      .ShowDefault()
      .Group(group);
}

void TruncationFlags::AddTo(Flags& flags, const std::string& group) {
  AddSideTo(flags, group);
  flags
      .Add("--max-tokens", max_tokens,
           "Most tokens per text, specials included (default: the server's limit)")
      .Positive()
      .Group(group);
}

v1::Truncation TruncationFlags::truncation() const {
  if (side == "left") return v1::TRUNCATION_LEFT;
  if (side == "error") return v1::TRUNCATION_ERROR;
  return v1::TRUNCATION_RIGHT;
}

void TruncationFlags::WarnAboutCuts(size_t cut, size_t texts) const {
  if (cut == 0) return;
  std::fputs(absl::StrFormat("attune: %d of %d texts had too many tokens and were cut on the %s; "
                             "--truncate error refuses them instead\n",
                             cut, texts, side)
                 .c_str(),
             stderr);
}

void TruncationFlags::WarnAboutLength(size_t beyond, size_t texts) const {
  if (beyond == 0) return;
  std::fputs(absl::StrFormat("attune: %d of %d texts have more tokens than the model was trained "
                             "for (trained_max_tokens of `attune info`); --max-tokens cuts them\n",
                             beyond, texts)
                 .c_str(),
             stderr);
}

}  // namespace attune::cli
