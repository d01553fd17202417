#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "server/codec/attention_codec.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

absl::StatusOr<MapMatrix> DecodeMatrix(v1::AttentionMatrix value) {
  switch (value) {
    case v1::ATTENTION_MATRIX_UNSPECIFIED:
    case v1::ATTENTION_MATRIX_WEIGHTS:
      return MapMatrix::kWeights;
    case v1::ATTENTION_MATRIX_RAW_SCORES:
      return MapMatrix::kRawScores;
    case v1::ATTENTION_MATRIX_VALUE_NORM:
      return MapMatrix::kValueNorm;
    case v1::ATTENTION_MATRIX_ATTN_NORM:
      return MapMatrix::kAttnNorm;
    case v1::ATTENTION_MATRIX_RES_NORM:
      return MapMatrix::kResNorm;
    case v1::ATTENTION_MATRIX_RES_LN_NORM:
      return MapMatrix::kResLnNorm;
    case v1::ATTENTION_MATRIX_ROLLOUT:
      return MapMatrix::kRollout;
    case v1::ATTENTION_MATRIX_HIDDEN_SIMILARITY:
      return MapMatrix::kHiddenSimilarity;
    case v1::ATTENTION_MATRIX_NONE:
      return MapMatrix::kNone;
    case v1::ATTENTION_MATRIX_FLOW:
      return MapMatrix::kFlow;
    case v1::ATTENTION_MATRIX_VALUE_ZEROING:
      return MapMatrix::kValueZeroing;
    default:
      return UnknownEnum("query.matrix", value);
  }
}

absl::StatusOr<MapReduction> DecodeReduction(absl::string_view field,
                                             v1::AttentionReduction value) {
  switch (value) {
    case v1::ATTENTION_REDUCTION_UNSPECIFIED:
    case v1::ATTENTION_REDUCTION_NONE:
      return MapReduction::kNone;
    case v1::ATTENTION_REDUCTION_MEAN:
      return MapReduction::kMean;
    case v1::ATTENTION_REDUCTION_MAX:
      return MapReduction::kMax;
    case v1::ATTENTION_REDUCTION_SUM:
      return MapReduction::kSum;
    case v1::ATTENTION_REDUCTION_L2:
      return MapReduction::kL2;
    default:
      return UnknownEnum(field, value);
  }
}

absl::StatusOr<MapLevel> DecodeLevel(v1::AttentionLevel value) {
  switch (value) {
    case v1::ATTENTION_LEVEL_UNSPECIFIED:
    case v1::ATTENTION_LEVEL_TOKEN:
      return MapLevel::kToken;
    case v1::ATTENTION_LEVEL_WORD:
      return MapLevel::kWord;
    default:
      return UnknownEnum("query.level", value);
  }
}

absl::StatusOr<MapSpecials> DecodeSpecials(v1::AttentionSpecials value) {
  switch (value) {
    case v1::ATTENTION_SPECIALS_UNSPECIFIED:
    case v1::ATTENTION_SPECIALS_KEEP:
      return MapSpecials::kKeep;
    case v1::ATTENTION_SPECIALS_DROP:
      return MapSpecials::kDrop;
    case v1::ATTENTION_SPECIALS_RENORMALISE:
      return MapSpecials::kRenormalise;
    default:
      return UnknownEnum("query.specials", value);
  }
}

// Whether rows of special tokens stay.
absl::StatusOr<bool> DecodeAxes(v1::AttentionAxes value) {
  switch (value) {
    case v1::ATTENTION_AXES_UNSPECIFIED:
    case v1::ATTENTION_AXES_BOTH:
      return false;
    case v1::ATTENTION_AXES_KEYS:
      return true;
    default:
      return UnknownEnum("query.specials_axes", value);
  }
}

absl::StatusOr<MapBlock> DecodeBlock(v1::AttentionBlock value) {
  switch (value) {
    case v1::ATTENTION_BLOCK_UNSPECIFIED:
    case v1::ATTENTION_BLOCK_ALL:
      return MapBlock::kAll;
    case v1::ATTENTION_BLOCK_AA:
      return MapBlock::kAToA;
    case v1::ATTENTION_BLOCK_AB:
      return MapBlock::kAToB;
    case v1::ATTENTION_BLOCK_BA:
      return MapBlock::kBToA;
    case v1::ATTENTION_BLOCK_BB:
      return MapBlock::kBToB;
    case v1::ATTENTION_BLOCK_MASS:
      return MapBlock::kMass;
    default:
      return UnknownEnum("query.block", value);
  }
}

absl::StatusOr<MapEncoding> DecodeEncoding(v1::AttentionEncoding value) {
  switch (value) {
    case v1::ATTENTION_ENCODING_UNSPECIFIED:
    case v1::ATTENTION_ENCODING_F32:
      return MapEncoding::kF32;
    case v1::ATTENTION_ENCODING_F16:
      return MapEncoding::kF16;
    case v1::ATTENTION_ENCODING_U8:
      return MapEncoding::kU8;
    default:
      return UnknownEnum("query.encoding", value);
  }
}

absl::StatusOr<TokenErasure> DecodeErasure(v1::TokenErasure value) {
  switch (value) {
    case v1::TOKEN_ERASURE_UNSPECIFIED:
    case v1::TOKEN_ERASURE_NONE:
      return TokenErasure::kNone;
    case v1::TOKEN_ERASURE_REMOVE:
      return TokenErasure::kRemove;
    case v1::TOKEN_ERASURE_MASK:
      return TokenErasure::kMask;
    default:
      return UnknownEnum("query.erasure", value);
  }
}

absl::StatusOr<MapPool> DecodePool(const v1::AttentionPool& message) {
  MapPool pool;
  if (message.size() > 0) pool.size = message.size();
  ATTUNE_ASSIGN_OR_RETURN(const MapReduction reduction,
                          DecodeReduction("query.pool.reduction", message.reduction()));
  if (message.reduction() != v1::ATTENTION_REDUCTION_UNSPECIFIED) pool.reduction = reduction;
  return pool;
}

MapSparsity DecodeSparsity(const v1::AttentionSparsity& message) {
  MapSparsity sparsity;
  sparsity.top_k = message.top_k();
  sparsity.mass = message.mass();
  sparsity.max_k = message.max_k();
  return sparsity;
}

MapRange DecodeRange(const v1::TokenRange& message) { return {message.begin(), message.end()}; }

// What makes up the map, but for the model's layers and heads.
absl::StatusOr<MapQuery> DecodeMap(const v1::AttentionQuery& query) {
  MapQuery map;
  map.statistics = query.statistics();
  map.mixing_ratio = query.mixing_ratio();
  ATTUNE_ASSIGN_OR_RETURN(map.matrix, DecodeMatrix(query.matrix()));
  ATTUNE_ASSIGN_OR_RETURN(map.head_reduction,
                          DecodeReduction("query.head_reduction", query.head_reduction()));
  ATTUNE_ASSIGN_OR_RETURN(map.layer_reduction,
                          DecodeReduction("query.layer_reduction", query.layer_reduction()));
  ATTUNE_ASSIGN_OR_RETURN(map.level, DecodeLevel(query.level()));
  ATTUNE_ASSIGN_OR_RETURN(map.specials, DecodeSpecials(query.specials()));
  ATTUNE_ASSIGN_OR_RETURN(map.keep_special_queries, DecodeAxes(query.specials_axes()));
  ATTUNE_ASSIGN_OR_RETURN(map.block, DecodeBlock(query.block()));
  ATTUNE_ASSIGN_OR_RETURN(map.encoding, DecodeEncoding(query.encoding()));
  if (query.has_query_range()) map.query_range = DecodeRange(query.query_range());
  if (query.has_key_range()) map.key_range = DecodeRange(query.key_range());
  if (query.has_sparsity()) map.sparsity = DecodeSparsity(query.sparsity());
  if (query.has_pool()) {
    ATTUNE_ASSIGN_OR_RETURN(map.pool, DecodePool(query.pool()));
  }
  return map;
}

std::vector<IndexRange> DecodeIndexRanges(
    const google::protobuf::RepeatedPtrField<v1::IndexRange>& messages) {
  std::vector<IndexRange> ranges;
  ranges.reserve(static_cast<size_t>(messages.size()));
  for (const v1::IndexRange& message : messages) {
    IndexRange& range = ranges.emplace_back();
    range.begin = message.begin();
    if (message.has_end()) range.end = message.end();
  }
  return ranges;
}

absl::StatusOr<std::vector<AblatedHeads>> DecodeAblation(const v1::AttentionQuery& query) {
  std::vector<AblatedHeads> ablated;
  ablated.reserve(static_cast<size_t>(query.ablate_size()));
  for (const v1::HeadAblation& message : query.ablate()) {
    AblatedHeads& heads = ablated.emplace_back();
    heads.layer = message.layer();
    if (message.has_head()) heads.head = message.head();
    switch (message.mode()) {
      case v1::HeadAblation::MODE_UNSPECIFIED:
      case v1::HeadAblation::MODE_ZERO:
        heads.mode = AblationMode::kZero;
        break;
      case v1::HeadAblation::MODE_UNIFORM:
        heads.mode = AblationMode::kUniform;
        break;
      default:
        return UnknownEnum(absl::StrCat("query.ablate[", ablated.size() - 1, "].mode"),
                           message.mode());
    }
  }
  return ablated;
}

// The echo lists layers and heads by number, and the defaults that were left out.
int64_t EchoBytes(const v1::AttentionQuery& query) {
  constexpr int64_t kDefaultsBytes = 256;
  constexpr int64_t kMostNumbersBytes = 2048;
  const size_t input_bytes = query.text().size() + query.text_pair().ByteSizeLong() +
                             query.token_ids().ByteSizeLong() + query.vectors().ByteSizeLong();
  return static_cast<int64_t>(query.ByteSizeLong() - input_bytes) + kDefaultsBytes +
         kMostNumbersBytes;
}

absl::Status DecodeInput(const v1::AttentionQuery& query, AttentionInput& input) {
  switch (query.input_case()) {
    case v1::AttentionQuery::kText:
      input.text = query.text();
      return absl::OkStatus();
    case v1::AttentionQuery::kTextPair:
      input.text = query.text_pair().first();
      input.second_text = query.text_pair().second();
      return absl::OkStatus();
    case v1::AttentionQuery::kTokenIds:
      input.token_ids.emplace(query.token_ids().values());
      return absl::OkStatus();
    case v1::AttentionQuery::kVectors: {
      ATTUNE_ASSIGN_OR_RETURN(input.vectors, DecodeMatrixView("query.vectors", query.vectors()));
      return absl::OkStatus();
    }
    case v1::AttentionQuery::INPUT_NOT_SET:
      break;
  }
  return FieldError("query.input",
                    " is not set; it must be one of text, text_pair, token_ids and vectors");
}

}  // namespace

absl::StatusOr<AttentionInput> DecodeAttentionQuery(const v1::AttentionQuery& query) {
  AttentionInput input;
  ATTUNE_RETURN_IF_ERROR(DecodeInput(query, input));
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("query.truncation", query.truncation()));
  if (query.has_max_tokens()) input.policy.max_tokens = query.max_tokens();
  input.policy.specials_as_text = query.specials_as_text();
  input.layers.assign(query.layers().begin(), query.layers().end());
  input.heads.assign(query.heads().begin(), query.heads().end());
  input.layer_ranges = DecodeIndexRanges(query.layer_ranges());
  input.head_ranges = DecodeIndexRanges(query.head_ranges());
  ATTUNE_ASSIGN_OR_RETURN(input.map, DecodeMap(query));
  input.pooled_queries = query.pooled_queries();
  for (const v1::ByteRange& span : query.spans()) input.spans.push_back({span.begin(), span.end()});
  ATTUNE_ASSIGN_OR_RETURN(input.ablate, DecodeAblation(query));
  input.mask_tokens.assign(query.mask_tokens().begin(), query.mask_tokens().end());
  if (query.has_mask()) {
    ATTUNE_ASSIGN_OR_RETURN(input.window, DecodeMask("query.mask", query.mask()));
  }
  ATTUNE_ASSIGN_OR_RETURN(input.erasure, DecodeErasure(query.erasure()));
  if (query.has_max_bytes()) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    input.max_bytes = static_cast<int64_t>(std::min(query.max_bytes(), kMost));
  }
  input.want_embedding = query.want_embedding();
  input.echo_bytes = EchoBytes(query);
  return input;
}

absl::StatusOr<AttentionInput> DecodeStatisticsText(const v1::HeadStatisticsRequest& request) {
  AttentionInput input;
  input.text = request.text();
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("truncation", request.truncation()));
  input.map.matrix = MapMatrix::kNone;
  input.map.statistics = true;
  return input;
}

}  // namespace attune
