#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "client/cli/attention_writer.h"
#include "client/cli/enum_names.h"
#include "client/cli/float_bytes.h"
#include "client/cli/head_table.h"
#include "client/cli/map_names.h"
#include "client/cli/matrix_text.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

constexpr int kTokenWidth = 24;

std::string StatisticsText(const v1::AttentionMapResponse& map) {
  if (map.statistics().empty()) return "";
  return absl::StrCat("statistics of heads\n", HeadTable(map.statistics()), "\n");
}

// Tokens downwards, layers across.
std::string MixingRatioText(const v1::AttentionMapResponse& map) {
  const size_t tokens = static_cast<size_t>(map.tokens_size());
  const size_t layers = static_cast<size_t>(map.layers_size());
  const std::vector<float> ratios = FloatsOf(map.mixing_ratio());
  if (ratios.empty() || ratios.size() != tokens * layers) return "";
  std::vector<Column> columns = {{.name = "token", .max_width = kTokenWidth}};
  for (const uint32_t layer : map.layers()) {
    columns.push_back({.name = absl::StrCat("layer ", layer), .align = Align::kRight});
  }
  Table table(columns);
  for (size_t token = 0; token < tokens; ++token) {
    std::vector<std::string> cells = {map.tokens(static_cast<int>(token)).text()};
    for (size_t layer = 0; layer < layers; ++layer) {
      cells.push_back(absl::StrFormat("%.3f", ratios[layer * tokens + token]));
    }
    table.AddRow(cells);
  }
  return absl::StrCat("mixing ratio: the share that comes from other tokens\n", table.ToString(),
                      "\n");
}

std::string ErasureText(const v1::AttentionMapResponse& map) {
  if (map.erasure().empty() || map.erasure_size() != map.tokens_size()) return "";
  Table table({{.name = "1 - cosine", .align = Align::kRight},
               {.name = "token", .max_width = kTokenWidth}});
  for (int i = 0; i < map.erasure_size(); ++i) {
    if (map.tokens(i).special()) continue;
    table.AddRow({absl::StrFormat("%.4f", map.erasure(i)), map.tokens(i).text()});
  }
  return absl::StrCat("how far the embedding moves without each token\n", table.ToString(), "\n");
}

std::string MovementText(const v1::AttentionMapResponse& map) {
  if (!map.has_movement()) return "";
  return absl::StrFormat("the embedding moved: 1 - cosine %s, distance %s\n\n",
                         FormatNumber(map.movement().cosine_distance()),
                         FormatNumber(map.movement().l2_distance()));
}

std::string EmbeddingText(const v1::AttentionMapResponse& map, int width) {
  if (map.embedding().empty()) return "";
  return absl::StrCat(
      MatrixText("embedding", map.embedding(), 1, static_cast<size_t>(map.embedding_size()), width),
      "\n");
}

class PictureWriter : public AttentionWriter {
 public:
  PictureWriter(OutputFile& out, const v1::AttentionQuery& query, const HeatMapStyle& style)
      : out_(out), query_(query), style_(style) {}

  absl::Status Begin(const v1::AttentionMapResponse& map) override {
    if (map.shape().empty()) return absl::OkStatus();
    absl::StatusOr<MapNames> names = NamesOfMap(map);
    if (!names.ok()) return names.status();
    names_ = *std::move(names);
    return absl::OkStatus();
  }

  absl::Status WriteLayer(const v1::AttentionMapResponse& map,
                          const AttentionLayer& layer) override {
    const size_t heads = static_cast<size_t>(map.shape(1));
    const size_t size = names_.queries.size() * names_.keys.size();
    for (size_t head = 0; head < heads; ++head) {
      const auto values = absl::MakeConstSpan(layer.values).subspan(head * size, size);
      absl::Status status = out_.Write(absl::StrCat(
          MapTitle(map, query_, layers_written_, head), ": ", What(), "\n\n",
          RenderHeatMap(names_.queries, names_.keys, values, style_), Kept(layer, head), "\n"));
      if (!status.ok()) return status;
    }
    ++layers_written_;
    return absl::OkStatus();
  }

  absl::Status Finish(const v1::AttentionMapResponse& map) override {
    return out_.Write(absl::StrCat(StatisticsText(map), MixingRatioText(map), ErasureText(map),
                                   MovementText(map), EmbeddingText(map, style_.width)));
  }

 private:
  std::string What() const {
    const v1::AttentionMatrix matrix = query_.matrix();
    const bool weights =
        matrix == v1::ATTENTION_MATRIX_UNSPECIFIED || matrix == v1::ATTENTION_MATRIX_WEIGHTS;
    return weights ? "row attends to column"
                   : absl::StrCat(EnumName(matrix), ", row from, column to");
  }

  std::string Kept(const AttentionLayer& layer, size_t head) const {
    if (layer.kept_mass.empty()) return "";
    const size_t rows = names_.queries.size();
    double sum = 0;
    for (size_t row = 0; row < rows; ++row) sum += double{layer.kept_mass[head * rows + row]};
    return absl::StrFormat("On average %.0f %% of a row's mass is shown.\n",
                           100 * sum / static_cast<double>(rows));
  }

  OutputFile& out_;
  const v1::AttentionQuery query_;
  const HeatMapStyle style_;
  MapNames names_;
  size_t layers_written_ = 0;
};

}  // namespace

std::unique_ptr<AttentionWriter> MakeAttentionPictureWriter(OutputFile& out,
                                                            const v1::AttentionQuery& query,
                                                            const HeatMapStyle& style) {
  return std::make_unique<PictureWriter>(out, query, style);
}

}  // namespace attune::cli
