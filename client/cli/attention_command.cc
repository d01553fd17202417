#include <memory>
#include <string>

#include "client/cli/attention_flags.h"
#include "client/cli/attention_source.h"
#include "client/cli/attention_writer.h"
#include "client/cli/commands.h"
#include "client/cli/format_flag.h"
#include "client/cli/map_names.h"
#include "client/cli/output_file.h"
#include "client/cli/query_fields.h"
#include "client/cli/terminal.h"

namespace attune::cli {
namespace {

constexpr const char* kOutputGroup = "Output";
constexpr const char* kExamples =
    "Without --layer, a picture is of the last layer; without --head, of the mean of its heads.\n"
    "JSON and NumPy have all. A map comes as a stream, layer by layer, and may be of any size.\n"
    "What needs every layer at once comes as one reply, at most 4 MiB unless --max-bytes allows\n"
    "more: --layer-reduction, --erasure, and how far the embedding moves under --ablate,\n"
    "--mask-tokens, --causal and --window.\n\n"
    "Examples:\n"
    "  attune attention \"the cat sat because it was tired\"\n"
    "  attune attention \"the cat sat because it was tired\" --layer 2 --head 5\n"
    "  attune attention \"hello world\" --json > maps.json          # all layers, all heads\n"
    "  attune attention \"hello world\" --npy -o maps.npy           # [layers, heads, from, to]\n"
    "  attune attention \"unbelievably good\" --level word --specials renormalise\n"
    "  attune attention --pair \"who is it?\" \"it is me\" --block ab --layer 4:\n"
    "  attune attention \"the cat sat\" --matrix rollout           # from the output to the text\n"
    "  attune attention \"the cat sat\" --matrix none --statistics --mixing-ratio\n"
    "  attune attention \"the cat sat\" --ablate 2/5 --ablate 3=uniform\n"
    "  attune attention \"the cat sat\" --matrix none --erasure remove";

// A picture of everything would scroll away: one layer, one map of it.
void ChooseForPicture(v1::AttentionQuery& query) {
  if (query.layers().empty() && query.layer_ranges().empty() &&
      query.layer_reduction() == v1::ATTENTION_REDUCTION_UNSPECIFIED &&
      query.matrix() != v1::ATTENTION_MATRIX_NONE) {
    query.add_layers(-1);
  }
  if (query.heads().empty() && query.head_ranges().empty() && !MergesHeads(query.matrix()) &&
      query.head_reduction() == v1::ATTENTION_REDUCTION_UNSPECIFIED) {
    query.set_head_reduction(v1::ATTENTION_REDUCTION_MEAN);
  }
}

class AttentionCommand : public Command {
 public:
  explicit AttentionCommand(CLI::App& parent);
  absl::Status Run() override;

 private:
  absl::Status CheckUsage() const;
  v1::AttentionQuery Query() const;
  std::unique_ptr<AttentionWriter> Writer(OutputFile& out, const v1::AttentionQuery& query) const;
  absl::Status Write(AttentionSource& source, const v1::AttentionQuery& query) const;

  AttentionFlags flags_;
  std::string format_ = "picture";
  std::string output_;
  bool stream_ = false;
};

AttentionCommand::AttentionCommand(CLI::App& parent)
    : Command(parent, "attention", "Show which tokens attend to which while a text is read",
              kExamples) {
  flags_.AddTextTo(flags());
  flags_.AddSelectionTo(flags());
  flags_.AddMatrixTo(flags());
  flags_.AddPartTo(flags());
  flags_.AddSparsityTo(flags());
  flags_.AddEncodingTo(flags(), v1::ATTENTION_ENCODING_F32);
  flags_.AddMaxBytesTo(flags());
  flags_.AddChangesTo(flags());
  flags_.AddErasureTo(flags());
  flags_.AddAnswersTo(flags());
  AddFormatFlag(flags(), {"picture", "json", "npy"}, format_,
                "A picture, JSON with every number, or a float32 array of the map alone",
                kOutputGroup);
  flags()
      .Add("-o,--output", output_, "Write to FILE instead of standard output")
      .Takes("FILE")
      .Group(kOutputGroup);
  flags()
      .AddSwitch("--stream", stream_,
                 "Stream in any case: what-if maps of any size, without the embedding's movement")
      .Group(kOutputGroup);
  flags().Check([this] { return CheckUsage(); });
}

absl::Status AttentionCommand::CheckUsage() const {
  if (absl::Status status = flags_.CheckTexts(); !status.ok()) return status;
  if (format_ != "npy") return absl::OkStatus();
  const v1::AttentionQuery query = flags_.Query();
  if (query.matrix() == v1::ATTENTION_MATRIX_NONE) {
    return absl::InvalidArgumentError(
        "--matrix none has no map to write as npy; use --format json");
  }
  const bool more = query.statistics() || query.mixing_ratio() || query.want_embedding() ||
                    query.erasure() != v1::TOKEN_ERASURE_UNSPECIFIED;
  if (more) {
    return absl::InvalidArgumentError(
        "npy holds the map alone, not --statistics, --mixing-ratio, --want-embedding or --erasure; "
        "use --format json");
  }
  return absl::OkStatus();
}

v1::AttentionQuery AttentionCommand::Query() const {
  v1::AttentionQuery query = flags_.Query();
  if (format_ == "picture") ChooseForPicture(query);
  return query;
}

std::unique_ptr<AttentionWriter> AttentionCommand::Writer(OutputFile& out,
                                                          const v1::AttentionQuery& query) const {
  if (format_ == "json") return MakeAttentionJsonWriter(out, query);
  if (format_ == "npy") return MakeAttentionNpyWriter(out);
  const bool color = UseColor() && out.is_stdout();
  return MakeAttentionPictureWriter(out, query, {.width = TerminalWidth(), .color = color});
}

absl::Status AttentionCommand::Write(AttentionSource& source,
                                     const v1::AttentionQuery& query) const {
  absl::StatusOr<OutputFile> out = OutputFile::Open(output_);
  if (!out.ok()) return out.status();
  const std::unique_ptr<AttentionWriter> writer = Writer(*out, query);
  absl::Status status = writer->Begin(source.map());
  while (status.ok()) {
    const absl::StatusOr<std::optional<AttentionLayer>> layer = source.NextLayer();
    if (!layer.ok()) return layer.status();
    if (!layer->has_value()) break;
    status = writer->WriteLayer(source.map(), **layer);
  }
  if (status.ok()) status = writer->Finish(source.map());
  return status.ok() ? out->Commit() : status;
}

absl::Status AttentionCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const v1::AttentionQuery query = Query();
  const auto source = OpenAttention(**client, query, stream_ || !NeedsOneReply(query));
  if (!source.ok()) return WithFlagNames(source.status());
  if (absl::Status status = Write(**source, query); !status.ok()) return WithFlagNames(status);
  flags_.truncation().WarnAboutCuts((*source)->map().truncated() ? 1 : 0, 1);
  flags_.truncation().WarnAboutLength((*source)->map().beyond_trained_length() ? 1 : 0, 1);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> MakeAttentionCommand(CLI::App& parent) {
  return std::make_unique<AttentionCommand>(parent);
}

}  // namespace attune::cli
