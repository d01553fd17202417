#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/format_flag.h"
#include "client/cli/head_table.h"
#include "client/cli/input_flags.h"
#include "client/cli/output_file.h"
#include "client/cli/progress_line.h"
#include "client/cli/provenance_json.h"
#include "client/cli/query_fields.h"
#include "client/cli/terminal.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {
namespace {

constexpr const char* kLegend =
    "Means over rows of what a row gives to\n"
    "itself, to the token before and after, [CLS], [SEP], and \".\" or \",\". nats: entropy;\n"
    "dist: how far it looks, in tokens; conf: its largest weight. Labels are thresholds on\n"
    "these (Clark et al. 2019).\n";
constexpr const char* kExamples =
    "Of one text, or averaged over many, each counting once. A text with too many tokens is cut;\n"
    "--truncate error refuses it.\n\n"
    "Examples:\n"
    "  attune heads \"the cat sat because it was tired\"\n"
    "  attune heads --input texts.txt --sort entropy      # one text a line; broadest heads first\n"
    "  attune heads --input docs.jsonl --csv > heads.csv  # every statistic\n"
    "  zcat corpus.gz | attune heads --json -o heads.json";

class HeadsCommand : public Command {
 public:
  explicit HeadsCommand(CLI::App& parent);
  absl::Status Run() override;

 private:
  absl::StatusOr<v1::HeadStatisticsResponse> OfOneText(const Client& client) const;
  absl::StatusOr<v1::HeadStatisticsResponse> OfManyTexts(const Client& client) const;
  std::string Format(const v1::HeadStatisticsResponse& response) const;

  InputFlags input_;
  TruncationFlags truncation_;
  std::string sort_ = "layer";
  std::string format_ = "table";
  std::string output_;
};

HeadsCommand::HeadsCommand(CLI::App& parent)
    : Command(parent, "heads", "Show what kind of attention each head has, over one text or many",
              kExamples) {
  input_.AddTo(flags());
  truncation_.AddSideTo(flags());
  flags()
      .Add("--sort", sort_, "Order by this statistic, largest first")
      .Takes("FIELD")
      .OneOf(HeadFieldNames())
      .ShowDefault();
  AddFormatFlag(flags(), {"table", "json", "csv"}, format_,
                "A table of the most telling, or every statistic as JSON or CSV");
  flags().Add("-o,--output", output_, "Write to FILE instead of standard output").Takes("FILE");
  flags().Check([this] { return input_.ChooseInput(); });
}

// Unlike a stream, says whether the text was cut.
absl::StatusOr<v1::HeadStatisticsResponse> HeadsCommand::OfOneText(const Client& client) const {
  v1::AttentionQuery query;
  query.set_text(input_.texts.front());
  query.set_matrix(v1::ATTENTION_MATRIX_NONE);
  query.set_statistics(true);
  query.set_truncation(truncation_.truncation());
  absl::StatusOr<v1::AttentionMapResponse> map = client.AttentionMap(query);
  if (!map.ok()) return WithFlagNames(map.status());
  truncation_.WarnAboutCuts(map->truncated() ? 1 : 0, 1);
  truncation_.WarnAboutLength(map->beyond_trained_length() ? 1 : 0, 1);
  v1::HeadStatisticsResponse response;
  response.set_texts(1);
  response.set_tokens(static_cast<uint64_t>(map->tokens_size()));
  response.mutable_statistics()->Swap(map->mutable_statistics());
  response.mutable_provenance()->Swap(map->mutable_provenance());
  return response;
}

absl::StatusOr<v1::HeadStatisticsResponse> HeadsCommand::OfManyTexts(const Client& client) const {
  const auto source = InputSource::Open(input_);
  if (!source.ok()) return source.status();
  ProgressLine line(stderr, StderrIsTerminal());
  HeadStatisticsOptions options{.truncation = truncation_.truncation()};
  uint64_t sent = 0;
  options.on_progress = [&](uint64_t texts) {
    sent = texts;
    line.Update({.texts = texts,
                 .input_bytes = (*source)->bytes_read(),
                 .total_input_bytes = (*source)->total_bytes()});
  };
  const auto next = [&]() -> absl::StatusOr<std::optional<std::string>> {
    absl::StatusOr<std::optional<EncodeInput>> input = (*source)->Next();
    if (!input.ok()) return input.status();
    if (*input) return std::get<std::string>(**std::move(input));
    // The connection holds some of them; how many, the server does not tell before it is done.
    line.Show(absl::StrCat(sent, " texts sent, waiting for the server to read the last of them"));
    return std::nullopt;
  };
  absl::StatusOr<v1::HeadStatisticsResponse> response = client.HeadStatistics(next, options);
  const std::optional<size_t> index = FailedInputIndex(response.status());
  if (!index) return response;
  // The place says more than the number of the text.
  absl::string_view what = response.status().message();
  absl::ConsumePrefix(&what, absl::StrCat("input ", *index, ": "));
  return WithFlagNames(
      absl::Status(response.status().code(), absl::StrCat((*source)->Place(*index), ": ", what)));
}

std::string HeadsCommand::Format(const v1::HeadStatisticsResponse& response) const {
  if (format_ == "csv") return HeadCsv(response.statistics());
  if (format_ == "json") {
    const Json json = {{"texts", response.texts()},
                       {"tokens", response.tokens()},
                       {"statistics", HeadsToJson(response.statistics())},
                       {"provenance", ProvenanceToJson(response.provenance())}};
    return absl::StrCat(DumpJson(json), "\n");
  }
  return absl::StrCat(HeadTable(response.statistics()), "\n",
                      absl::StrFormat("%d text%s, %d tokens. ", response.texts(),
                                      response.texts() == 1 ? "" : "s", response.tokens()),
                      kLegend);
}

absl::Status HeadsCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const bool one = input_.path.empty() && input_.texts.size() == 1;
  absl::StatusOr<v1::HeadStatisticsResponse> response =
      one ? OfOneText(**client) : OfManyTexts(**client);
  if (!response.ok()) return response.status();
  SortHeads(sort_, *response->mutable_statistics());
  absl::StatusOr<OutputFile> out = OutputFile::Open(output_);
  if (!out.ok()) return out.status();
  if (absl::Status status = out->Write(Format(*response)); !status.ok()) return status;
  return out->Commit();
}

}  // namespace

std::unique_ptr<Command> MakeHeadsCommand(CLI::App& parent) {
  return std::make_unique<HeadsCommand>(parent);
}

}  // namespace attune::cli
