#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/display.h"
#include "client/cli/heat_map.h"
#include "client/cli/json.h"
#include "client/cli/terminal.h"
#include "client/cli/token_json.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {
namespace {

// The reply's matrices, one [seq, seq] after the other.
struct Maps {
  std::vector<std::string> tokens = {};
  std::vector<float> values = {};
  size_t layers = 0;
  size_t heads = 0;

  size_t seq() const { return tokens.size(); }
  absl::Span<const float> Matrix(size_t layer, size_t head) const {
    const size_t size = seq() * seq();
    return absl::MakeConstSpan(values).subspan((layer * heads + head) * size, size);
  }
};

absl::StatusOr<Maps> ReadMaps(const v1::AttentionMapResponse& response) {
  absl::StatusOr<std::vector<float>> values = AttentionValues(response);
  if (!values.ok()) return values.status();
  Maps maps{.values = *std::move(values),
            .layers = static_cast<size_t>(response.layers_size()),
            .heads = static_cast<size_t>(response.heads_size())};
  for (const v1::Token& token : response.tokens()) maps.tokens.push_back(token.text());
  if (maps.layers * maps.heads * maps.seq() * maps.seq() != maps.values.size()) {
    return absl::InternalError(absl::StrCat("the server sent ", maps.values.size(), " weights for ",
                                            maps.layers, " layers, ", maps.heads, " heads and ",
                                            maps.seq(), " tokens"));
  }
  return maps;
}

std::vector<float> MeanOfHeads(const Maps& maps, size_t layer) {
  std::vector<float> mean(maps.seq() * maps.seq(), 0.0f);
  for (size_t head = 0; head < maps.heads; ++head) {
    const absl::Span<const float> matrix = maps.Matrix(layer, head);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += matrix[i];
  }
  for (float& value : mean) value /= static_cast<float>(maps.heads);
  return mean;
}

std::string MapsToJson(const std::string& text, const v1::AttentionMapResponse& response,
                       const Maps& maps) {
  const v1::Provenance& provenance = response.provenance();
  Json json = {{"text", text},
               {"truncated", response.truncated()},
               {"beyond_trained_length", response.beyond_trained_length()},
               {"tokens", Json::array()}};
  for (const v1::Token& token : response.tokens()) json["tokens"].push_back(TokenToJson(token));
  json["layers"] = std::vector<uint32_t>(response.layers().begin(), response.layers().end());
  json["heads"] = std::vector<uint32_t>(response.heads().begin(), response.heads().end());
  json["provenance"] = {{"model", provenance.model()},
                        {"model_revision", provenance.model_revision()},
                        {"server_version", provenance.server_version()},
                        {"compute_dtype", provenance.compute_dtype()},
                        {"isa", provenance.isa()},
                        {"onednn_version", provenance.onednn_version()},
                        {"kernels", provenance.kernels()}};
  // The weights are written straight to text: as Json values they would take ten times the memory.
  std::string out = DumpJson(json);
  out.back() = ',';
  out += "\"weights\":[";
  for (size_t layer = 0; layer < maps.layers; ++layer) {
    out += layer == 0 ? "[" : ",[";
    for (size_t head = 0; head < maps.heads; ++head) {
      if (head > 0) out += ',';
      AppendMatrix(maps.Matrix(layer, head), maps.seq(), out);
    }
    out += ']';
  }
  return absl::StrCat(out, "]}\n");
}

class AttentionCommand : public Command {
 public:
  explicit AttentionCommand(CLI::App& parent)
      : Command(parent, "attention", "Show which tokens attend to which while a text is read",
                "Without --layer: the last layer. Without --head: the mean of the layer's heads. "
                "Both can be given several times;\nnegative numbers count from the end.\n\n"
                "Examples:\n"
                "  attune attention \"the cat sat because it was tired\"\n"
                "  attune attention \"the cat sat because it was tired\" --layer 2 --head 5\n"
                "  attune attention \"hello world\" --format json > maps.json   # all layers, all "
                "heads") {
    app().add_option("text", text_, "The text")->required();
    app().add_option("-l,--layer", layers_, "Layers, from 0")->type_name("N")->take_all();
    app().add_option("--head", heads_, "Heads, from 0")->type_name("N")->take_all();
    truncation_.AddTo(app());
    app()
        .add_option("--max-bytes", max_bytes_, "Largest reply to accept (default: 4 MiB)")
        ->check(CLI::PositiveNumber);
    app()
        .add_option("-f,--format", format_, "A picture, or JSON with every number")
        ->check(CLI::IsMember({"picture", "json"}))
        ->capture_default_str();
  }

  absl::Status Run() override;

 private:
  v1::AttentionQuery Query() const;
  std::string Pictures(const v1::AttentionMapResponse& response, const Maps& maps) const;

  std::string text_;
  std::vector<int32_t> layers_;
  std::vector<int32_t> heads_;
  TruncationFlags truncation_;
  std::optional<uint64_t> max_bytes_;
  std::string format_ = "picture";
};

v1::AttentionQuery AttentionCommand::Query() const {
  v1::AttentionQuery query;
  query.set_text(text_);
  for (const int32_t layer : layers_) query.add_layers(layer);
  for (const int32_t head : heads_) query.add_heads(head);
  if (layers_.empty() && format_ == "picture") query.add_layers(-1);
  truncation_.SetOn(query);
  if (max_bytes_) query.set_max_bytes(*max_bytes_);
  return query;
}

std::string AttentionCommand::Pictures(const v1::AttentionMapResponse& response,
                                       const Maps& maps) const {
  const HeatMapStyle style{.width = TerminalWidth(), .color = UseColor()};
  std::string text;
  for (size_t layer = 0; layer < maps.layers; ++layer) {
    const std::string title = absl::StrCat("layer ", response.layers(static_cast<int>(layer)));
    if (heads_.empty()) {
      absl::StrAppendFormat(&text, "%s, mean of %d heads: row attends to column\n\n", title,
                            maps.heads);
      absl::StrAppend(&text, RenderHeatMap(maps.tokens, MeanOfHeads(maps, layer), style), "\n");
      continue;
    }
    for (size_t head = 0; head < maps.heads; ++head) {
      absl::StrAppendFormat(&text, "%s, head %d: row attends to column\n\n", title,
                            response.heads(static_cast<int>(head)));
      absl::StrAppend(&text, RenderHeatMap(maps.tokens, maps.Matrix(layer, head), style), "\n");
    }
  }
  return text;
}

absl::Status AttentionCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::AttentionMapResponse> response = (*client)->AttentionMap(Query());
  if (!response.ok()) return response.status();
  const absl::StatusOr<Maps> maps = ReadMaps(*response);
  if (!maps.ok()) return maps.status();
  truncation_.WarnAboutCuts(response->truncated() ? 1 : 0, 1);
  truncation_.WarnAboutLength(response->beyond_trained_length() ? 1 : 0, 1);
  return Print(format_ == "json" ? MapsToJson(text_, *response, *maps)
                                 : Pictures(*response, *maps));
}

}  // namespace

std::unique_ptr<Command> MakeAttentionCommand(CLI::App& parent) {
  return std::make_unique<AttentionCommand>(parent);
}

}  // namespace attune::cli
