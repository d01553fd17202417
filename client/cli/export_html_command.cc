#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/cli/attention_flags.h"
#include "client/cli/commands.h"
#include "client/cli/html_page.h"
#include "client/cli/map_names.h"
#include "client/cli/output_file.h"
#include "client/cli/query_fields.h"
#include "client/cli/terminal.h"

namespace attune::cli {
namespace {

constexpr const char* kExamples =
    "One file with everything in it: it works offline, loads nothing, and can be mailed. The\n"
    "data is in it too, as JSON in the elements \"attune\" and, for BertViz, \"bertviz\".\n"
    "A page is at most 32 MiB; choose layers or heads of a long text.\n\n"
    "Examples:\n"
    "  attune export-html \"the cat sat because it was tired\" -o cat.html\n"
    "  attune export-html --pair \"who is it?\" \"it is me\" -o pair.html\n"
    "  attune export-html \"the cat sat\" --matrix rollout -o rollout.html\n"
    "  attune export-html \"$(cat letter.txt)\" --layer -1 -o letter.html";

// The map in one piece, from a stream: that has no limit but the page's.
absl::StatusOr<v1::AttentionMapResponse> FetchMap(const Client& client,
                                                  const v1::AttentionQuery& query) {
  const auto stream = client.StreamAttentionMap(query);
  if (!stream.ok()) return stream.status();
  absl::Status status = CheckFitsHtmlPage((*stream)->map());
  if (!status.ok()) return status;
  std::string data;
  std::string row_scales;
  std::string kept_mass;
  while (true) {
    const absl::StatusOr<std::optional<v1::AttentionChunk>> layer = (*stream)->NextLayer();
    if (!layer.ok()) return layer.status();
    if (!layer->has_value()) break;
    data += (*layer)->data();
    row_scales += (*layer)->row_scales();
    kept_mass += (*layer)->kept_mass();
  }
  v1::AttentionMapResponse map = (*stream)->map();
  map.set_data(std::move(data));
  map.set_row_scales(std::move(row_scales));
  map.set_kept_mass(std::move(kept_mass));
  return map;
}

class ExportHtmlCommand : public Command {
 public:
  explicit ExportHtmlCommand(CLI::App& parent);
  absl::Status Run() override;

 private:
  absl::Status CheckUsage() const;
  v1::AttentionQuery Query() const;
  absl::Status Write(const std::string& page) const;

  AttentionFlags flags_;
  std::string output_;
  bool no_bertviz_ = false;
};

ExportHtmlCommand::ExportHtmlCommand(CLI::App& parent)
    : Command(parent, "export-html", "Save a text's attention as a page that works offline",
              kExamples) {
  flags_.AddTextTo(flags());
  flags_.AddSelectionTo(flags());
  flags_.AddMatrixTo(flags());
  flags_.AddEncodingTo(flags(), v1::ATTENTION_ENCODING_F16);
  flags_.AddChangesTo(flags());
  flags().Add("-o,--output", output_, "Write to FILE instead of standard output").Takes("FILE");
  flags().AddSwitch("--no-bertviz", no_bertviz_,
                    "Leave out the data for BertViz, half of the page");
  flags().Check([this] { return CheckUsage(); });
}

absl::Status ExportHtmlCommand::CheckUsage() const {
  if (absl::Status status = flags_.CheckTexts(); !status.ok()) return status;
  if (flags_.Query().matrix() == v1::ATTENTION_MATRIX_NONE) {
    return absl::InvalidArgumentError("--matrix none has no map for the page to show");
  }
  if (output_.empty() && StdoutIsTerminal()) {
    return absl::InvalidArgumentError(
        "a page is not for a terminal: name a file with --output FILE");
  }
  return absl::OkStatus();
}

v1::AttentionQuery ExportHtmlCommand::Query() const {
  v1::AttentionQuery query = flags_.Query();
  query.set_statistics(!MergesHeads(query.matrix()));
  return query;
}

absl::Status ExportHtmlCommand::Write(const std::string& page) const {
  absl::StatusOr<OutputFile> out = OutputFile::Open(output_);
  if (!out.ok()) return out.status();
  if (absl::Status status = out->Write(page); !status.ok()) return status;
  if (absl::Status status = out->Commit(); !status.ok()) return status;
  if (out->is_stdout()) return absl::OkStatus();
  constexpr double kKiB = 1024;
  std::fputs(absl::StrFormat("attune: wrote %s, %.0f KiB; open it in a browser\n", output_,
                             static_cast<double>(page.size()) / kKiB)
                 .c_str(),
             stderr);
  return absl::OkStatus();
}

absl::Status ExportHtmlCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const v1::AttentionQuery query = Query();
  const absl::StatusOr<v1::AttentionMapResponse> map = FetchMap(**client, query);
  if (!map.ok()) return WithFlagNames(map.status());
  const absl::StatusOr<std::string> page = MakeHtmlPage(query, *map, !no_bertviz_);
  if (!page.ok()) return page.status();
  if (absl::Status status = Write(*page); !status.ok()) return status;
  flags_.truncation().WarnAboutCuts(map->truncated() ? 1 : 0, 1);
  flags_.truncation().WarnAboutLength(map->beyond_trained_length() ? 1 : 0, 1);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> MakeExportHtmlCommand(CLI::App& parent) {
  return std::make_unique<ExportHtmlCommand>(parent);
}

}  // namespace attune::cli
