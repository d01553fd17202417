#include "server/attention_intake.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_error.h"
#include "engine/base/sha256.h"
#include "engine/base/status_macros.h"
#include "server/map_text.h"
#include "server/reply_size.h"

namespace attune {
namespace {

// What an unset max_bytes allows: the receive limit of a gRPC client that sets none.
constexpr int64_t kDefaultReplyBytes = int64_t{4} << 20;

// Each costs a forward pass.
constexpr int64_t kMaxErasedTokens = 256;

absl::StatusOr<int64_t> ResolveMaxBytes(const AttentionInput& input, const ServerOptions& options) {
  const int64_t most = options.max_attention_reply_bytes;
  if (!input.max_bytes.has_value()) return std::min(kDefaultReplyBytes, most);
  if (*input.max_bytes < 1 || *input.max_bytes > most) {
    return FieldError("query.max_bytes", " is ", *input.max_bytes, "; it must be from 1 to ", most);
  }
  return *input.max_bytes;
}

// One number of a selection.
absl::StatusOr<int64_t> ResolveNumber(absl::string_view field, int64_t number, int64_t count) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                          ResolveSelection(field, {number}, count));
  return numbers.front();
}

absl::StatusOr<std::vector<int32_t>> MaskTokens(const Encoding& encoding,
                                                const std::vector<int64_t>& masked,
                                                int32_t mask_id) {
  std::vector<int32_t> ids = encoding.ids;
  std::vector<bool> seen(ids.size());
  for (size_t i = 0; i < masked.size(); ++i) {
    const auto token = static_cast<size_t>(masked[i]);
    if (token >= ids.size() || seen[token]) {
      return FieldError(absl::StrCat("query.mask_tokens[", i, "]"), " is ", masked[i],
                        "; give numbers from 0 to ", ids.size() - 1, ", each once");
    }
    seen[token] = true;
    ids[token] = mask_id;
  }
  return ids;
}

// Numbers are in memory as the contract says: 4 bytes, little-endian.
std::string Sha256OfNumbers(const void* numbers, size_t count) {
  return Sha256Hex({static_cast<const char*>(numbers), count * 4});
}

std::string Sha256OfInput(const AttentionWork& work) {
  if (work.vectors.rows == 0) return Sha256OfNumbers(work.ids.data(), work.ids.size());
  return Sha256OfNumbers(work.vectors.data,
                         static_cast<size_t>(work.vectors.rows * work.vectors.cols));
}

// `value` is that of the field if others would do, with a space in front.
absl::Status DoesNotGo(absl::string_view field, absl::string_view value, absl::string_view input,
                       absl::string_view why) {
  return FieldError(field, value, " does not go with ", input, ": ", why);
}

// What needs a text, or at least its tokens.
absl::Status CheckNeeds(const AttentionInput& input) {
  if (input.has_text()) return absl::OkStatus();
  const absl::string_view given = input.vectors.has_value() ? "query.vectors" : "query.token_ids";
  if (input.map.level == MapLevel::kWord) {
    return DoesNotGo("query.level", " WORD", given, "there is no text to divide into words");
  }
  if (!input.spans.empty()) return DoesNotGo("query.spans", "", given, "they are of a text");
  if (!input.vectors.has_value()) return absl::OkStatus();
  constexpr absl::string_view kNoTokens = "there is no token to mask";
  if (!input.mask_tokens.empty()) return DoesNotGo("query.mask_tokens", "", given, kNoTokens);
  if (input.erasure == TokenErasure::kMask) {
    return DoesNotGo("query.erasure", " MASK", given, kNoTokens);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AttentionIntake::Resolve(AttentionInput& input) const {
  ATTUNE_RETURN_IF_ERROR(ResolveSelections(input));
  ATTUNE_RETURN_IF_ERROR(ResolveAblation(input));
  if (input.pooled_queries) {
    if (model_.pooling.size() != 1) {
      return FieldError("query.pooled_queries",
                        " needs one pooling; this "
                        "model puts ",
                        model_.pooling.size(), " side by side");
    }
    input.map.pooled_queries = model_.pooling.front();
  }
  if (!input.spans.empty() && input.second_text.has_value()) {
    return FieldError("query.spans", " are of one text; query.text_pair has two");
  }
  ATTUNE_RETURN_IF_ERROR(CheckNeeds(input));
  ATTUNE_RETURN_IF_ERROR(CheckSpans(input.text, input.spans));
  const bool masks = !input.mask_tokens.empty() || input.erasure == TokenErasure::kMask;
  if (masks && engine_.tokenizer().mask_token_id() < 0) {
    return FieldError(input.mask_tokens.empty() ? "query.erasure" : "query.mask_tokens",
                      input.mask_tokens.empty() ? " MASK" : "",
                      " needs a mask token, which this model's vocabulary does not have");
  }
  ATTUNE_RETURN_IF_ERROR(ResolveMaxBytes(input, options_).status());
  return ValidateMapQuery(input.map);
}

absl::Status AttentionIntake::ResolveSelections(AttentionInput& input) const {
  ATTUNE_ASSIGN_OR_RETURN(input.map.layers,
                          ResolveSelection("query.layers", input.layers, "query.layer_ranges",
                                           input.layer_ranges, model_.config.layers));
  ATTUNE_ASSIGN_OR_RETURN(input.map.heads,
                          ResolveSelection("query.heads", input.heads, "query.head_ranges",
                                           input.head_ranges, model_.config.heads));
  input.map.every_head = static_cast<int64_t>(input.map.heads.size()) == model_.config.heads;
  return absl::OkStatus();
}

absl::Status AttentionIntake::ResolveAblation(AttentionInput& input) const {
  if (input.ablate.empty()) return absl::OkStatus();
  HeadAblation ablation(model_.config.layers, model_.config.heads);
  for (size_t i = 0; i < input.ablate.size(); ++i) {
    const AblatedHeads& entry = input.ablate[i];
    const std::string field = absl::StrCat("query.ablate[", i, "]");
    ATTUNE_ASSIGN_OR_RETURN(const int64_t layer, ResolveNumber(absl::StrCat(field, ".layer"),
                                                               entry.layer, model_.config.layers));
    std::vector<int64_t> heads;
    if (entry.head.has_value()) heads.push_back(*entry.head);
    ATTUNE_ASSIGN_OR_RETURN(
        heads, ResolveSelection(absl::StrCat(field, ".head"), heads, model_.config.heads));
    for (const int64_t head : heads) {
      if (ablation.mode(layer, head) != AblationMode::kNone) {
        return FieldError(field, " holds head ", head, " of layer ", layer,
                          ", which was given before");
      }
      ablation.Set(layer, head, entry.mode);
    }
  }
  input.ablation = std::move(ablation);
  return absl::OkStatus();
}

absl::StatusOr<AttentionWork> AttentionIntake::Plan(const AttentionInput& input,
                                                    AttentionReply& reply) const {
  ATTUNE_RETURN_IF_ERROR(CheckErasure(input, reply.encoding));
  ATTUNE_ASSIGN_OR_RETURN(
      reply.plan,
      MakeMapPlan(input.map, MakeMapText(reply.encoding, engine_.tokenizer(), input.spans)));
  AttentionWork work;
  work.mask_id = engine_.tokenizer().mask_token_id();
  ATTUNE_ASSIGN_OR_RETURN(work.ids, MaskTokens(reply.encoding, input.mask_tokens, work.mask_id));
  work.vectors = input.vectors.value_or(ConstMatrixView());
  work.ablation = input.ablation;
  work.window = input.window;
  work.changed = input.changes_the_pass();
  work.want_embedding = input.want_embedding;
  work.erasure = input.erasure;
  reply.input_sha256 = Sha256OfInput(work);
  return work;
}

absl::Status AttentionIntake::CheckErasure(const AttentionInput& input,
                                           const Encoding& encoding) const {
  if (input.erasure == TokenErasure::kNone) return absl::OkStatus();
  const auto erased = std::count(encoding.special.begin(), encoding.special.end(), false);
  if (erased <= kMaxErasedTokens) return absl::OkStatus();
  return FieldError("query.erasure", " takes texts of at most ", kMaxErasedTokens,
                    " tokens; this one has ", erased);
}

absl::StatusOr<MapMemory> AttentionIntake::ReplyFits(const AttentionInput& input,
                                                     const AttentionReply& reply) const {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t max_bytes, ResolveMaxBytes(input, options_));
  const int64_t bytes = AttentionReplyBytes(input, reply, engine_.tokenizer(), model_.dimension);
  if (bytes > max_bytes) {
    return AboutField("query.max_bytes",
                      absl::StrCat("the attention map of ", reply.encoding.size(), " tokens needs ",
                                   bytes, " bytes; query.max_bytes allows ", max_bytes,
                                   "; ask for fewer layers or heads, a smaller encoding or a "
                                   "reduction, raise max_bytes and "
                                   "the client's limit, or stream the map"));
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t held, HeldFits(reply, bytes));
  return MapMemory{bytes, held};
}

absl::StatusOr<int64_t> AttentionIntake::StreamFits(const AttentionInput& input,
                                                    const AttentionReply& reply) const {
  if (input.map.layer_reduction != MapReduction::kNone) {
    return FieldError("query.layer_reduction",
                      " needs every layer first; AttentionMap takes it, a stream does not");
  }
  if (input.erasure != TokenErasure::kNone) {
    return FieldError("query.erasure",
                      " needs passes of their own; AttentionMap takes it, a stream does not");
  }
  const int64_t bytes = AttentionReplyBytes(input, reply, engine_.tokenizer(), model_.dimension);
  const auto layers = static_cast<int64_t>(input.map.layers.size());
  // A layer, and the chunk of it that is being sent. What is not of layers is counted in part, and
  // small beside the chunk.
  return HeldFits(reply, bytes / layers + (int64_t{2} << 20));
}

absl::StatusOr<int64_t> AttentionIntake::HeldFits(const AttentionReply& reply,
                                                  int64_t reply_bytes) const {
  const int64_t working = reply.plan.WorkingBytes(model_.config.heads, model_.config.hidden);
  int64_t held = 0;
  if (__builtin_add_overflow(reply_bytes, working, &held)) {
    held = std::numeric_limits<int64_t>::max();
  }
  if (held <= options_.attention_budget_bytes) return held;
  return AboutField(
      "query", absl::StrCat("the attention map of ", reply.encoding.size(), " tokens needs ", held,
                            " bytes of memory while it is made; the server's attention-budget is ",
                            options_.attention_budget_bytes, "; send a shorter text"));
}

}  // namespace attune
