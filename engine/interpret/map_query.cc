#include "engine/interpret/map_query.h"

#include "absl/strings/string_view.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

// `value` is that of the field if others would do, with a space in front.
absl::Status Clash(absl::string_view field, absl::string_view value, MapMatrix matrix,
                   absl::string_view why) {
  return FieldError(field, value, " does not go with query.matrix ", MatrixName(matrix), ": ", why);
}

absl::Status CheckMergedHeads(const MapQuery& query) {
  if (!MergesHeads(query.matrix)) return absl::OkStatus();
  constexpr absl::string_view kWhy = "it merges all heads";
  if (!query.every_head) return Clash("query.heads", "", query.matrix, kWhy);
  if (query.head_reduction != MapReduction::kNone) {
    return Clash("query.head_reduction", "", query.matrix, kWhy);
  }
  return absl::OkStatus();
}

absl::Status CheckSigned(const MapQuery& query) {
  if (!IsSigned(query.matrix)) return absl::OkStatus();
  constexpr absl::string_view kWhy = "its values have a sign, and no share of a row";
  if (query.level == MapLevel::kWord) return Clash("query.level", " WORD", query.matrix, kWhy);
  if (query.specials == MapSpecials::kRenormalise) {
    return Clash("query.specials", " RENORMALISE", query.matrix, kWhy);
  }
  if (query.encoding == MapEncoding::kU8) return Clash("query.encoding", " U8", query.matrix, kWhy);
  if (query.pool.has_value()) return Clash("query.pool", "", query.matrix, kWhy);
  if (query.sparsity.has_value() && query.sparsity->top_k == 0) {
    return Clash("query.sparsity.mass", "", query.matrix, kWhy);
  }
  return absl::OkStatus();
}

// MASS takes the place of words, and counts special tokens.
absl::Status CheckBlock(const MapQuery& query) {
  if (query.block != MapBlock::kMass) return absl::OkStatus();
  if (query.level != MapLevel::kToken || query.specials != MapSpecials::kKeep ||
      query.pooled_queries.has_value() || IsSigned(query.matrix)) {
    return FieldError("query.block",
                      " MASS needs level TOKEN, specials KEEP, no pooled_queries, and a matrix of "
                      "values without a sign");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(absl::string_view field, const std::optional<MapRange>& range) {
  if (!range.has_value() || range->begin < range->end) return absl::OkStatus();
  return FieldError(field, " is [", range->begin, ", ", range->end,
                    "); its begin must be below its end");
}

absl::Status CheckSparsity(const MapQuery& query) {
  if (!query.sparsity.has_value()) return absl::OkStatus();
  const MapSparsity& sparsity = *query.sparsity;
  if (query.pool.has_value()) {
    return FieldError("query.sparsity", " does not go with query.pool");
  }
  // Written so that a NaN fails.
  if (sparsity.top_k < 1 && !(sparsity.mass > 0 && sparsity.mass <= 1)) {
    return FieldError("query.sparsity",
                      " needs a top_k of at least 1, or a mass above 0 and at most 1; "
                      "they are ",
                      sparsity.top_k, " and ", sparsity.mass);
  }
  return absl::OkStatus();
}

absl::Status CheckPool(const MapQuery& query) {
  if (!query.pool.has_value()) return absl::OkStatus();
  if (query.pool->size < 1 || query.pool->size > MapPool::kMaxSize) {
    return FieldError("query.pool.size", " is ", query.pool->size, "; it must be from 1 to ",
                      MapPool::kMaxSize);
  }
  if (query.pool->reduction != MapReduction::kMax && query.pool->reduction != MapReduction::kMean) {
    return FieldError("query.pool.reduction", " must be MEAN or MAX");
  }
  return absl::OkStatus();
}

absl::Status CheckMixing(const MapQuery& query) {
  if (!query.mixing_ratio) return absl::OkStatus();
  switch (query.matrix) {
    case MapMatrix::kWeights:
    case MapMatrix::kNone:
      if (query.every_head) return absl::OkStatus();
      return FieldError("query.mixing_ratio",
                        " does not go with query.heads: it is "
                        "taken over all heads");
    case MapMatrix::kAttnNorm:
    case MapMatrix::kResNorm:
    case MapMatrix::kResLnNorm:
      return absl::OkStatus();
    default:
      return Clash("query.mixing_ratio", "", query.matrix,
                   "it is defined for WEIGHTS, NONE, ATTN_NORM, RES_NORM and RES_LN_NORM");
  }
}

absl::Status CheckPooledQueries(const MapQuery& query) {
  if (!query.pooled_queries.has_value()) return absl::OkStatus();
  if (query.query_range.has_value()) {
    return FieldError("query.query_range",
                      " does not go with query.pooled_queries, which leaves one row");
  }
  if (*query.pooled_queries == PoolingMode::kMax) {
    return FieldError("query.pooled_queries",
                      " needs a pooling that mixes rows; this model's takes a maximum");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view MatrixName(MapMatrix matrix) {
  switch (matrix) {
    case MapMatrix::kWeights:
      return "WEIGHTS";
    case MapMatrix::kRawScores:
      return "RAW_SCORES";
    case MapMatrix::kValueNorm:
      return "VALUE_NORM";
    case MapMatrix::kAttnNorm:
      return "ATTN_NORM";
    case MapMatrix::kResNorm:
      return "RES_NORM";
    case MapMatrix::kResLnNorm:
      return "RES_LN_NORM";
    case MapMatrix::kRollout:
      return "ROLLOUT";
    case MapMatrix::kFlow:
      return "FLOW";
    case MapMatrix::kValueZeroing:
      return "VALUE_ZEROING";
    case MapMatrix::kHiddenSimilarity:
      return "HIDDEN_SIMILARITY";
    case MapMatrix::kNone:
      break;
  }
  return "NONE";
}

int64_t ValueBytes(MapEncoding encoding) {
  switch (encoding) {
    case MapEncoding::kF32:
      return 4;
    case MapEncoding::kF16:
      return 2;
    case MapEncoding::kU8:
      break;
  }
  return 1;
}

bool MergesHeads(MapMatrix matrix) {
  switch (matrix) {
    case MapMatrix::kAttnNorm:
    case MapMatrix::kResNorm:
    case MapMatrix::kResLnNorm:
    case MapMatrix::kRollout:
    case MapMatrix::kFlow:
    case MapMatrix::kValueZeroing:
    case MapMatrix::kHiddenSimilarity:
      return true;
    default:
      return false;
  }
}

bool IsSigned(MapMatrix matrix) {
  return matrix == MapMatrix::kRawScores || matrix == MapMatrix::kHiddenSimilarity;
}

absl::Status ValidateMapQuery(const MapQuery& query) {
  ATTUNE_RETURN_IF_ERROR(CheckMergedHeads(query));
  ATTUNE_RETURN_IF_ERROR(CheckSigned(query));
  ATTUNE_RETURN_IF_ERROR(CheckBlock(query));
  if (query.layer_reduction != MapReduction::kNone &&
      query.layer_reduction != MapReduction::kMean) {
    return FieldError("query.layer_reduction", " must be NONE or MEAN");
  }
  ATTUNE_RETURN_IF_ERROR(CheckRange("query.query_range", query.query_range));
  ATTUNE_RETURN_IF_ERROR(CheckRange("query.key_range", query.key_range));
  ATTUNE_RETURN_IF_ERROR(CheckPool(query));
  ATTUNE_RETURN_IF_ERROR(CheckSparsity(query));
  ATTUNE_RETURN_IF_ERROR(CheckPooledQueries(query));
  return CheckMixing(query);
}

}  // namespace attune
