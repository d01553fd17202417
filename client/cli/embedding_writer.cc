#include "client/cli/embedding_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/display.h"
#include "client/cli/json.h"
#include "client/cli/npy_writer.h"
#include "client/cli/similarity.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

constexpr int kTextWidth = 32;
constexpr size_t kShownValues = 4;

std::string InputText(const EncodeInput& input) {
  if (const auto* text = std::get_if<std::string>(&input)) return *text;
  if (const auto* pair = std::get_if<TextPair>(&input)) {
    return absl::StrCat(pair->first, " | ", pair->second);
  }
  return absl::StrJoin(std::get<TokenIdList>(input), " ");
}

class JsonLinesWriter : public EmbeddingWriter {
 public:
  JsonLinesWriter(OutputFile& out, bool per_token) : out_(out), per_token_(per_token) {}

  absl::Status Write(const EncodedItem& item) override {
    std::string line;
    if (const auto* text = std::get_if<std::string>(&item.input)) {
      line = absl::StrCat("{\"text\":", DumpJson(*text));
    } else if (const auto* pair = std::get_if<TextPair>(&item.input)) {
      line = absl::StrCat("{\"text\":", DumpJson(pair->first),
                          ",\"text_pair\":", DumpJson(pair->second));
    } else {
      const auto& ids = std::get<TokenIdList>(item.input);
      line = absl::StrCat("{\"token_ids\":[", absl::StrJoin(ids, ","), "]");
    }
    absl::StrAppend(&line, ",\"tokens\":", item.embedding.tokens);
    if (item.embedding.truncated) line += ",\"truncated\":true";
    if (item.embedding.beyond_trained_length) line += ",\"beyond_trained_length\":true";
    line += ",\"embedding\":";
    std::string matrix;
    AppendMatrix(item.embedding.values, item.dimension, matrix);
    // One vector is the matrix without its outer brackets.
    absl::StrAppend(
        &line, per_token_ ? matrix : absl::string_view(matrix).substr(1, matrix.size() - 2), "}\n");
    return out_.Write(line);
  }

  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  OutputFile& out_;
  const bool per_token_;
};

// Prints as results come in, so its columns have fixed widths.
class TableWriter : public EmbeddingWriter {
 public:
  explicit TableWriter(OutputFile& out) : out_(out) {}

  absl::Status Write(const EncodedItem& item) override {
    std::string lines;
    if (item.index == 0) lines = Row("text", "tokens", "length", "first values");
    const absl::Span<const float> values = item.embedding.values;
    std::vector<std::string> shown;
    for (const float value : values.subspan(0, std::min(kShownValues, values.size()))) {
      shown.push_back(absl::StrFormat("%8.4f", value));
    }
    if (values.size() > kShownValues) shown.push_back("..");
    lines += Row(Printable(InputText(item.input)), absl::StrCat(item.embedding.tokens),
                 absl::StrFormat("%.4f", Norm(values)), absl::StrJoin(shown, " "));
    return out_.Write(lines);
  }

  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  static std::string Row(const std::string& text, const std::string& tokens,
                         const std::string& length, const std::string& values) {
    constexpr int kNumberWidth = 8;
    return absl::StrCat(PadRight(FitWidth(text, kTextWidth), kTextWidth),
                        PadLeft(tokens, kNumberWidth), PadLeft(length, kNumberWidth), "  ", values,
                        "\n");
  }

  OutputFile& out_;
};

class NpyEmbeddingWriter : public EmbeddingWriter {
 public:
  explicit NpyEmbeddingWriter(NpyWriter writer) : writer_(std::move(writer)) {}

  absl::Status Write(const EncodedItem& item) override {
    return writer_.AddRow(item.embedding.values);
  }
  absl::Status Finish() override { return writer_.Finish(); }

 private:
  NpyWriter writer_;
};

class SimilarityWriter : public EmbeddingWriter {
 public:
  explicit SimilarityWriter(OutputFile& out) : out_(out) {}

  absl::Status Write(const EncodedItem& item) override {
    if (vectors_.size() == kMaxSimilarityTexts) {
      return absl::InvalidArgumentError(
          absl::StrCat("--similarity compares at most ", kMaxSimilarityTexts,
                       " texts; use --format npy and NumPy for more"));
    }
    names_.push_back(InputText(item.input));
    vectors_.push_back(item.embedding.values);
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    const size_t n = vectors_.size();
    const std::vector<double> cosines = CosineMatrix(vectors_);
    std::vector<Column> columns = {{.name = "", .align = Align::kRight},
                                   {.name = "cosine", .max_width = kTextWidth}};
    for (size_t i = 0; i < n; ++i) {
      columns.push_back({.name = absl::StrCat(i + 1), .align = Align::kRight});
    }
    Table table(columns);
    for (size_t i = 0; i < n; ++i) {
      std::vector<std::string> row = {absl::StrCat(i + 1), names_[i]};
      for (size_t j = 0; j < n; ++j) row.push_back(absl::StrFormat("%.3f", cosines[i * n + j]));
      table.AddRow(row);
    }
    return out_.Write(table.ToString());
  }

 private:
  OutputFile& out_;
  std::vector<std::string> names_;
  std::vector<std::vector<float>> vectors_;
};

}  // namespace

std::unique_ptr<EmbeddingWriter> MakeJsonLinesWriter(OutputFile& out, bool per_token) {
  return std::make_unique<JsonLinesWriter>(out, per_token);
}

std::unique_ptr<EmbeddingWriter> MakeTableWriter(OutputFile& out) {
  return std::make_unique<TableWriter>(out);
}

absl::StatusOr<std::unique_ptr<EmbeddingWriter>> MakeNpyWriter(OutputFile& out) {
  absl::StatusOr<NpyWriter> writer = NpyWriter::Create(out.file());
  if (!writer.ok()) return writer.status();
  return std::make_unique<NpyEmbeddingWriter>(*std::move(writer));
}

std::unique_ptr<EmbeddingWriter> MakeSimilarityWriter(OutputFile& out) {
  return std::make_unique<SimilarityWriter>(out);
}

}  // namespace attune::cli
