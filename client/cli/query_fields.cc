#include "client/cli/query_fields.h"

#include "absl/strings/str_replace.h"

namespace attune::cli {

absl::Status WithFlagNames(const absl::Status& status) {
  if (status.ok()) return status;
  // Of several fields that fit, StrReplaceAll takes the longest.
  return absl::Status(
      status.code(),
      absl::StrReplaceAll(status.message(), {{"query.text", "the text"},
                                             {"query.text_pair", "--pair"},
                                             {"query.layers", "--layer"},
                                             {"query.layer_ranges", "--layer"},
                                             {"query.heads", "--head"},
                                             {"query.head_ranges", "--head"},
                                             {"query.matrix", "--matrix"},
                                             {"query.head_reduction", "--head-reduction"},
                                             {"query.layer_reduction", "--layer-reduction"},
                                             {"query.level", "--level"},
                                             {"query.specials", "--specials"},
                                             {"query.specials_axes", "--specials-axes"},
                                             {"query.specials_as_text", "--specials-as-text"},
                                             {"query.encoding", "--encoding"},
                                             {"query.truncation", "--truncate"},
                                             {"query.max_tokens", "--max-tokens"},
                                             {"query.max_bytes", "--max-bytes"},
                                             {"query.want_embedding", "--want-embedding"},
                                             {"query.statistics", "--statistics"},
                                             {"query.mixing_ratio", "--mixing-ratio"},
                                             {"query.block", "--block"},
                                             {"query.query_range", "--queries"},
                                             {"query.key_range", "--keys"},
                                             {"query.spans", "--span"},
                                             {"query.sparsity.top_k", "--top-k"},
                                             {"query.sparsity.mass", "--mass"},
                                             {"query.sparsity.max_k", "--max-k"},
                                             {"query.sparsity", "--top-k or --mass"},
                                             {"query.pool.size", "--pool"},
                                             {"query.pool.reduction", "--pool-reduction"},
                                             {"query.pool", "--pool"},
                                             {"query.pooled_queries", "--pooled-queries"},
                                             {"query.ablate", "--ablate"},
                                             {"query.mask", "--causal or --window"},
                                             {"query.mask_tokens", "--mask-tokens"},
                                             {"query.token_ids", "--token-ids"},
                                             {"query.erasure", "--erasure"}}));
}

}  // namespace attune::cli
