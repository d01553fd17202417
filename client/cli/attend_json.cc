#include "client/cli/attend_json.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/json.h"

namespace attune::cli {
namespace {

absl::Status Wrong(absl::string_view key, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is not ", expected));
}

absl::Status AppendRow(const Json& row, absl::string_view key, v1::Matrix& matrix) {
  if (!row.is_array() || row.empty()) return Wrong(key, "an array of rows of numbers");
  if (matrix.rows() > 0 && row.size() != matrix.cols()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" row ", matrix.rows(), " has ",
                                                   row.size(), " numbers, the rows before it have ",
                                                   matrix.cols()));
  }
  for (const Json& number : row) {
    if (!number.is_number()) return Wrong(key, "an array of rows of numbers");
    const float value = number.get<float>();
    if (!std::isfinite(value)) return Wrong(key, "within the range of a 32-bit float");
    matrix.add_values(value);
  }
  matrix.set_rows(matrix.rows() + 1);
  matrix.set_cols(static_cast<uint32_t>(row.size()));
  return absl::OkStatus();
}

absl::Status ReadMatrix(const Json& json, absl::string_view key, v1::Matrix& matrix) {
  if (!json.is_array() || json.empty()) return Wrong(key, "an array of rows of numbers");
  for (const Json& row : json) {
    if (absl::Status status = AppendRow(row, key, matrix); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// One matrix, or one per head, which the message stacks.
absl::Status ReadWeights(const Json& json, absl::string_view key, v1::Matrix& matrix) {
  const bool per_head = json.is_array() && !json.empty() && json[0].is_array() &&
                        !json[0].empty() && json[0][0].is_array();
  if (!per_head) return ReadMatrix(json, key, matrix);
  for (const Json& head : json) {
    if (absl::Status status = ReadMatrix(head, key, matrix); !status.ok()) return status;
  }
  return absl::OkStatus();
}

template <typename Enum>
absl::Status ReadEnum(const Json& json, absl::string_view key,
                      const std::map<std::string, Enum>& names, Enum& value) {
  const auto found = json.is_string() ? names.find(json.get<std::string>()) : names.end();
  if (found == names.end()) {
    const auto name = [](std::string* out, const auto& entry) { out->append(entry.first); };
    return Wrong(key, absl::StrCat("one of ", absl::StrJoin(names, ", ", name)));
  }
  value = found->second;
  return absl::OkStatus();
}

absl::Status ReadCount(const Json& json, absl::string_view key, uint32_t& value) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
    return Wrong(key, "a whole number from 0");
  }
  value = json.get<uint32_t>();
  return absl::OkStatus();
}

absl::Status ReadWindow(const Json& json, v1::AttendMask::Window& window) {
  if (!json.is_object()) return Wrong("mask", R"({"window": {"left": L, "right": R}})");
  for (const auto& [side, count] : json.items()) {
    if (side != "left" && side != "right") {
      return absl::InvalidArgumentError(
          absl::StrCat("mask: unknown key \"", side, "\"; a window has left and right"));
    }
    uint32_t value = 0;
    absl::Status status = ReadCount(count, absl::StrCat("mask.window.", side), value);
    if (!status.ok()) return status;
    side == "left" ? window.set_left(value) : window.set_right(value);
  }
  return absl::OkStatus();
}

absl::Status ReadGraph(const Json& json, v1::AttendMask::Graph& graph) {
  constexpr absl::string_view kExpected = "an array of edges [from, to]";
  if (!json.is_array()) return Wrong("mask.graph", kExpected);
  for (const Json& pair : json) {
    if (!pair.is_array() || pair.size() != 2) return Wrong("mask.graph", kExpected);
    uint32_t from = 0;
    uint32_t to = 0;
    if (!ReadCount(pair[0], "", from).ok() || !ReadCount(pair[1], "", to).ok()) {
      return Wrong("mask.graph", kExpected);
    }
    v1::AttendMask::Graph::Edge* edge = graph.add_edges();
    edge->set_from(from);
    edge->set_to(to);
  }
  return absl::OkStatus();
}

absl::Status ReadMask(const Json& json, v1::AttendRequest& request) {
  if (json == "none") return absl::OkStatus();
  if (json == "causal") {
    request.mutable_mask()->mutable_causal();
    return absl::OkStatus();
  }
  if (json.is_object() && json.size() == 1 && json.contains("window")) {
    return ReadWindow(json["window"], *request.mutable_mask()->mutable_window());
  }
  if (json.is_object() && json.size() == 1 && json.contains("graph")) {
    return ReadGraph(json["graph"], *request.mutable_mask()->mutable_graph());
  }
  return Wrong("mask", R"("none", "causal", {"window": {..}} or {"graph": [..]})");
}

using Reader = std::function<absl::Status(const Json& json, v1::AttendRequest& request)>;

Reader MatrixReader(const char* key, v1::Matrix* (v1::AttendRequest::*field)()) {
  return [key, field](const Json& json, v1::AttendRequest& request) {
    return ReadMatrix(json, key, *(request.*field)());
  };
}

template <typename Enum>
Reader EnumReader(const char* key, std::map<std::string, Enum> names,
                  void (v1::AttendRequest::*set)(Enum)) {
  return [key, names = std::move(names), set](const Json& json, v1::AttendRequest& request) {
    Enum value{};
    absl::Status status = ReadEnum(json, key, names, value);
    if (status.ok()) (request.*set)(value);
    return status;
  };
}

const std::map<std::string, Reader>& Readers() {
  static const auto* const kReaders = new std::map<std::string, Reader>{
      {"vectors", MatrixReader("vectors", &v1::AttendRequest::mutable_vectors)},
      {"query_projection",
       MatrixReader("query_projection", &v1::AttendRequest::mutable_query_projection)},
      {"key_projection",
       MatrixReader("key_projection", &v1::AttendRequest::mutable_key_projection)},
      {"value_projection",
       MatrixReader("value_projection", &v1::AttendRequest::mutable_value_projection)},
      {"output_projection",
       MatrixReader("output_projection", &v1::AttendRequest::mutable_output_projection)},
      {"additive_vector",
       [](const Json& json, v1::AttendRequest& request) {
         return AppendRow(json, "additive_vector", *request.mutable_additive_vector());
       }},
      {"given_weights",
       [](const Json& json, v1::AttendRequest& request) {
         return ReadWeights(json, "given_weights", *request.mutable_given_weights());
       }},
      {"heads",
       [](const Json& json, v1::AttendRequest& request) {
         uint32_t heads = 0;
         absl::Status status = ReadCount(json, "heads", heads);
         request.set_heads(heads);
         return status;
       }},
      {"score", EnumReader<v1::AttendScore>("score",
                                            {{"scaled_dot", v1::ATTEND_SCORE_SCALED_DOT},
                                             {"dot", v1::ATTEND_SCORE_DOT},
                                             {"additive", v1::ATTEND_SCORE_ADDITIVE}},
                                            &v1::AttendRequest::set_score)},
      {"normalizer", EnumReader<v1::AttendNormalizer>("normalizer",
                                                      {{"softmax", v1::ATTEND_NORMALIZER_SOFTMAX},
                                                       {"relu", v1::ATTEND_NORMALIZER_RELU}},
                                                      &v1::AttendRequest::set_normalizer)},
      {"position", EnumReader<v1::AttendPosition>("position",
                                                  {{"none", v1::ATTEND_POSITION_NONE},
                                                   {"sinusoidal", v1::ATTEND_POSITION_SINUSOIDAL}},
                                                  &v1::AttendRequest::set_position)},
      {"mask", ReadMask},
  };
  return *kReaders;
}

void AppendKey(absl::string_view key, std::string& out) {
  absl::StrAppend(&out, out.empty() ? "{\"" : ",\"", key, "\":");
}

void AppendStep(absl::string_view key, const v1::Matrix& matrix, std::string& out) {
  if (matrix.values().empty()) return;
  AppendKey(key, out);
  AppendMatrix(matrix.values(), matrix.cols(), out);
}

// `matrix` [heads * seq, seq] as an array of one matrix per head.
void AppendHeads(absl::string_view key, const v1::Matrix& matrix, std::string& out) {
  if (matrix.values().empty()) return;
  AppendKey(key, out);
  const size_t seq = matrix.cols();
  const absl::Span<const float> values = matrix.values();
  for (size_t first = 0; first < values.size(); first += seq * seq) {
    out += first == 0 ? '[' : ',';
    AppendMatrix(values.subspan(first, seq * seq), seq, out);
  }
  out += ']';
}

}  // namespace

absl::StatusOr<v1::AttendRequest> AttendRequestFromJson(absl::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  if (!json->is_object()) return absl::InvalidArgumentError("not a JSON object");
  v1::AttendRequest request;
  for (const auto& [key, value] : json->items()) {
    const auto reader = Readers().find(key);
    if (reader == Readers().end()) {
      const auto name = [](std::string* out, const auto& entry) { out->append(entry.first); };
      return absl::InvalidArgumentError(absl::StrCat("unknown key \"", key, "\"; the keys are ",
                                                     absl::StrJoin(Readers(), ", ", name)));
    }
    if (value.is_null()) continue;
    if (absl::Status status = reader->second(value, request); !status.ok()) return status;
  }
  if (!request.has_vectors()) return absl::InvalidArgumentError("\"vectors\" is missing");
  return request;
}

std::string AttendResponseToJson(const v1::AttendResponse& response) {
  std::string out;
  AppendStep("queries", response.queries(), out);
  AppendStep("keys", response.keys(), out);
  AppendStep("values", response.values(), out);
  AppendHeads("scores", response.scores(), out);
  AppendHeads("weights", response.weights(), out);
  AppendStep("outputs", response.outputs(), out);
  return out.empty() ? "{}" : absl::StrCat(out, "}");
}

absl::StatusOr<v1::AttendRequest> AttendExample(absl::string_view name) {
  // Three word vectors attend to each other by their plain dot products.
  constexpr absl::string_view kRawVectors = R"({
    "vectors": [[1, 2, 1, 2, 1], [1, 1, 3, 2, 1], [3, 1, 2, 1, 1]],
    "score": "dot"
  })";
  // Queries, keys and values are projections of the same three vectors.
  constexpr absl::string_view kProjections = R"({
    "vectors": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "query_projection": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    "key_projection": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    "value_projection": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
    "score": "dot"
  })";
  if (name == "a") return AttendRequestFromJson(kRawVectors);
  if (name == "b") return AttendRequestFromJson(kProjections);
  return absl::NotFoundError(absl::StrCat("no example \"", name, "\"; there are a and b"));
}

}  // namespace attune::cli
