#include "engine/model/config.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "engine/model/json_fields.h"

namespace attune {
namespace {

// Several times the largest published encoder in each direction, and small enough that no product
// of two of them comes near an overflow.
constexpr int64_t kMaxVocab = int64_t{1} << 22;
constexpr int64_t kMaxHidden = 16'384;
constexpr int64_t kMaxLayers = 256;
constexpr int64_t kMaxHeads = 1'024;
constexpr int64_t kMaxFfn = 65'536;
constexpr int64_t kMaxPositions = int64_t{1} << 20;
constexpr int64_t kMaxTypeVocab = 1'024;

// What transformers' BertConfig has where the file says nothing.
constexpr char kDefaultHiddenAct[] = "gelu";
constexpr double kDefaultLayerNormEpsilon = 1e-12;

absl::Status CheckFamily(const Json& json) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string model_type, StringMember(json, "model_type", ""));
  if (model_type.empty()) return absl::InvalidArgumentError("\"model_type\" is missing");
  if (model_type != "bert") {
    return absl::UnimplementedError(absl::StrCat("\"model_type\" is ",
                                                 QuoteJson(ShortenForMessage(model_type)),
                                                 "; only \"bert\" is built"));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string position_type,
                          StringMember(json, "position_embedding_type", "absolute"));
  if (position_type != "absolute") {
    return absl::UnimplementedError(absl::StrCat("\"position_embedding_type\" is ",
                                                 QuoteJson(ShortenForMessage(position_type)),
                                                 "; only \"absolute\" is built"));
  }
  for (absl::string_view key : {"is_decoder", "add_cross_attention"}) {
    ATTUNE_ASSIGN_OR_RETURN(const bool decoder, BoolMember(json, key, false));
    if (decoder) {
      return absl::UnimplementedError(absl::StrCat("\"", key, "\" is true; this is an encoder"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<float> LayerNormEpsilon(const Json& json) {
  const Json* member = FindMember(json, "layer_norm_eps");
  if (member == nullptr) return static_cast<float>(kDefaultLayerNormEpsilon);
  // At least the smallest normal f32: anything below would be flushed to zero on the way.
  const double epsilon = member->is_number() ? member->get<double>() : 0;
  if (!(epsilon >= std::numeric_limits<float>::min() && epsilon <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("\"layer_norm_eps\" is ", Shown(*member),
                                                   "; it must be a number above 0, at most 1"));
  }
  return static_cast<float>(epsilon);
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view config_json) {
  ATTUNE_ASSIGN_OR_RETURN(const Json json, ParseJsonObject(config_json));
  ATTUNE_RETURN_IF_ERROR(CheckFamily(json));
  ModelConfig config;
  config.model_type = "bert";
  ATTUNE_ASSIGN_OR_RETURN(config.vocab, IntMember(json, "vocab_size", 1, kMaxVocab));
  ATTUNE_ASSIGN_OR_RETURN(config.hidden, IntMember(json, "hidden_size", 1, kMaxHidden));
  ATTUNE_ASSIGN_OR_RETURN(config.layers, IntMember(json, "num_hidden_layers", 1, kMaxLayers));
  ATTUNE_ASSIGN_OR_RETURN(config.heads, IntMember(json, "num_attention_heads", 1, kMaxHeads));
  ATTUNE_ASSIGN_OR_RETURN(config.ffn, IntMember(json, "intermediate_size", 1, kMaxFfn));
  ATTUNE_ASSIGN_OR_RETURN(config.max_positions,
                          IntMember(json, "max_position_embeddings", 1, kMaxPositions));
  ATTUNE_ASSIGN_OR_RETURN(config.type_vocab, IntMember(json, "type_vocab_size", 1, kMaxTypeVocab));
  if (config.hidden % config.heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("\"hidden_size\" is ", config.hidden,
                                                   ", not a multiple of the ", config.heads,
                                                   " of \"num_attention_heads\""));
  }
  ATTUNE_ASSIGN_OR_RETURN(config.layer_norm_epsilon, LayerNormEpsilon(json));
  ATTUNE_ASSIGN_OR_RETURN(const std::string hidden_act,
                          StringMember(json, "hidden_act", kDefaultHiddenAct));
  const absl::StatusOr<Activation> activation = ParseActivation(hidden_act);
  if (!activation.ok()) return AnnotateStatus(activation.status(), "\"hidden_act\"");
  config.activation = *activation;
  return config;
}

}  // namespace attune
