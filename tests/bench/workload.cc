#include "tests/bench/workload.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"

namespace attune::bench {
namespace {

constexpr int64_t kMaxWorkloadBytes = int64_t{64} << 20;

absl::Status FieldError(absl::string_view field, const Json& value, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", Shown(value), "; must be ", wanted));
}

absl::StatusOr<TokenIds> ParseIds(absl::string_view field, const Json& json) {
  if (!json.is_array() || json.empty()) return FieldError(field, json, "a list of token ids");
  TokenIds ids;
  for (const Json& value : json) {
    const std::optional<int64_t> id = AsInt64(value);
    if (!id || *id < 0 || *id > INT32_MAX) return FieldError(field, value, "a token id");
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

absl::StatusOr<std::vector<TokenIds>> ParseTexts(absl::string_view field, const Json& json) {
  if (!json.is_array()) return FieldError(field, json, "a list of texts");
  std::vector<TokenIds> texts;
  for (const Json& text : json) {
    ATTUNE_ASSIGN_OR_RETURN(TokenIds ids, ParseIds(field, text));
    texts.push_back(std::move(ids));
  }
  return texts;
}

absl::StatusOr<Workload> ParseWorkload(const Json& json) {
  if (!json.is_object()) return FieldError("the workload", json, "an object");
  const auto field = [&json](const char* name) { return json.value(name, Json()); };
  Workload workload;
  ATTUNE_ASSIGN_OR_RETURN(workload.mixed, ParseTexts("mixed", field("mixed")));
  ATTUNE_ASSIGN_OR_RETURN(workload.accuracy, ParseTexts("accuracy", field("accuracy")));
  const Json uniform = field("uniform");
  if (!uniform.is_object()) return FieldError("uniform", uniform, "an object");
  for (const auto& [length, texts] : uniform.items()) {
    int64_t seq = 0;
    if (!absl::SimpleAtoi(length, &seq)) return FieldError("uniform", length, "keyed by length");
    ATTUNE_ASSIGN_OR_RETURN(workload.uniform[seq],
                            ParseTexts(absl::StrCat("uniform.", length), texts));
  }
  return workload;
}

class WorkloadMaker {
 public:
  explicit WorkloadMaker(const ModelConfig& config) : config_(config) {}

  Workload Make() {
    constexpr int64_t kUniformTexts = 32;
    Workload workload;
    for (const int64_t seq : {16, 128, 512}) {
      for (int64_t i = 0; i < kUniformTexts; ++i) workload.uniform[seq].push_back(Text(seq));
    }
    for (int i = 0; i < 1'024; ++i) workload.mixed.push_back(Text(MixedLength()));
    for (int i = 0; i < 64; ++i) workload.accuracy.push_back(Text(MixedLength()));
    return workload;
  }

 private:
  int64_t MixedLength() {
    std::lognormal_distribution<double> tokens(std::log(24.0), 0.9);
    return std::clamp<int64_t>(std::llround(tokens(random_)), 4, 512);
  }
  TokenIds Text(int64_t seq) {
    std::uniform_int_distribution<int32_t> id(0, static_cast<int32_t>(config_.vocab) - 1);
    TokenIds ids(static_cast<size_t>(std::min(seq, config_.max_positions)));
    for (int32_t& value : ids) value = id(random_);
    return ids;
  }

  const ModelConfig& config_;
  std::mt19937_64 random_{1};
};

}  // namespace

absl::StatusOr<Workload> ReadWorkload(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxWorkloadBytes));
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return AnnotateStatus(json.status(), path);
  absl::StatusOr<Workload> workload = ParseWorkload(*json);
  if (!workload.ok()) return AnnotateStatus(workload.status(), path);
  return workload;
}

Workload MakeWorkload(const ModelConfig& config) { return WorkloadMaker(config).Make(); }

Pass MakePass(const ModelConfig& config, absl::Span<const TokenIds> texts,
              int64_t max_batch_tokens) {
  Pass pass;
  for (const TokenIds& ids : texts) {
    const auto seq = static_cast<int64_t>(ids.size());
    if (pass.forwards.empty() || pass.forwards.back().batch.tokens() + seq > max_batch_tokens) {
      pass.forwards.push_back({Batch(), pass.tokens, pass.texts});
    }
    pass.forwards.back().batch.Append(ids, {});
    pass.tokens += seq;
    pass.flops += UsefulFlops(config, seq);
    ++pass.texts;
  }
  return pass;
}

double UsefulFlops(const ModelConfig& config, int64_t seq) {
  const int64_t per_token =
      8 * config.hidden * config.hidden + 4 * config.hidden * config.ffn + 4 * seq * config.hidden;
  return static_cast<double>(config.layers * seq * per_token);
}

}  // namespace attune::bench
