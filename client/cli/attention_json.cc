#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/cli/attention_writer.h"
#include "client/cli/enum_names.h"
#include "client/cli/float_bytes.h"
#include "client/cli/head_table.h"
#include "client/cli/json.h"
#include "client/cli/provenance_json.h"
#include "client/cli/token_json.h"

namespace attune::cli {
namespace {

Json WordToJson(const v1::Word& word) {
  return {{"text", word.text()},
          {"tokens", {word.token_begin(), word.token_end()}},
          {"bytes", {word.byte_begin(), word.byte_end()}},
          {"special", word.special()}};
}

template <typename Numbers>
Json NumbersToJson(const Numbers& numbers) {
  return std::vector<uint64_t>(numbers.begin(), numbers.end());
}

// What is known before the first layer.
Json HeaderToJson(const v1::AttentionQuery& query, const v1::AttentionMapResponse& map) {
  const bool pair = query.has_text_pair();
  Json json = {{"text", pair ? query.text_pair().first() : query.text()}};
  if (query.has_token_ids()) json = {{"token_ids", NumbersToJson(query.token_ids().values())}};
  if (pair) json["second_text"] = query.text_pair().second();
  json["truncated"] = map.truncated();
  json["original_tokens"] = map.original_tokens();
  json["beyond_trained_length"] = map.beyond_trained_length();
  json["tokens"] = Json::array();
  for (const v1::Token& token : map.tokens()) {
    Json entry = TokenToJson(token);
    if (pair) entry["segment"] = token.segment();
    json["tokens"].push_back(std::move(entry));
  }
  for (const v1::Word& word : map.words()) json["words"].push_back(WordToJson(word));
  json["matrix"] = EnumName(map.matrix());
  json["encoding"] = EnumName(map.encoding());
  json["layers"] = NumbersToJson(map.layers());
  json["heads"] = NumbersToJson(map.heads());
  json["shape"] = NumbersToJson(map.shape());
  json["queries"] = NumbersToJson(map.queries());
  json["keys"] = NumbersToJson(map.keys());
  json["provenance"] = ProvenanceToJson(map.provenance());
  return json;
}

// A row per layer.
void AppendMixingRatio(const v1::AttentionMapResponse& map, std::string& out) {
  if (map.mixing_ratio().empty() || map.tokens().empty()) return;
  out += ",\"mixing_ratio\":";
  AppendMatrix(FloatsOf(map.mixing_ratio()), static_cast<size_t>(map.tokens_size()), out);
}

void AppendVector(const char* name, absl::Span<const float> values, std::string& out) {
  if (values.empty()) return;
  absl::StrAppend(&out, ",\"", name, "\":");
  AppendArray(values, out);
}

// Matrices are written straight to text, a layer at a time: as Json values they would take ten
// times the memory, and all layers at once.
class JsonAttentionWriter : public AttentionWriter {
 public:
  JsonAttentionWriter(OutputFile& out, const v1::AttentionQuery& query)
      : out_(out), query_(query) {}

  absl::Status Begin(const v1::AttentionMapResponse& map) override {
    std::string text = DumpJson(HeaderToJson(query_, map));
    text.back() = ',';
    return out_.Write(absl::StrCat(text, "\"values\":["));
  }

  absl::Status WriteLayer(const v1::AttentionMapResponse& map,
                          const AttentionLayer& layer) override {
    const size_t heads = static_cast<size_t>(map.shape(1));
    const size_t size = layer.values.size() / heads;
    std::string text = layers_written_++ == 0 ? "[" : ",[";
    for (size_t head = 0; head < heads; ++head) {
      if (head > 0) text += ',';
      AppendMatrix(absl::MakeConstSpan(layer.values).subspan(head * size, size),
                   static_cast<size_t>(map.shape(3)), text);
    }
    if (!layer.kept_mass.empty()) {
      kept_mass_ += kept_mass_.empty() ? "" : ",";
      AppendMatrix(layer.kept_mass, static_cast<size_t>(map.shape(2)), kept_mass_);
    }
    return out_.Write(absl::StrCat(text, "]"));
  }

  absl::Status Finish(const v1::AttentionMapResponse& map) override {
    std::string text = "]";
    if (!kept_mass_.empty()) absl::StrAppend(&text, ",\"kept_mass\":[", kept_mass_, "]");
    if (!map.statistics().empty()) {
      absl::StrAppend(&text, ",\"statistics\":", DumpJson(HeadsToJson(map.statistics())));
    }
    AppendMixingRatio(map, text);
    AppendVector("embedding", map.embedding(), text);
    AppendVector("erasure", map.erasure(), text);
    if (map.has_movement()) {
      const Json movement = {{"cosine_distance", map.movement().cosine_distance()},
                             {"l2_distance", map.movement().l2_distance()}};
      absl::StrAppend(&text, ",\"movement\":", DumpJson(movement));
      AppendVector("baseline_embedding", map.movement().baseline(), text);
    }
    return out_.Write(absl::StrCat(text, "}\n"));
  }

 private:
  OutputFile& out_;
  const v1::AttentionQuery query_;
  size_t layers_written_ = 0;
  std::string kept_mass_;
};

}  // namespace

std::unique_ptr<AttentionWriter> MakeAttentionJsonWriter(OutputFile& out,
                                                         const v1::AttentionQuery& query) {
  return std::make_unique<JsonAttentionWriter>(out, query);
}

}  // namespace attune::cli
