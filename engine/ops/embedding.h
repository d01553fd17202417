// The input layer of BERT: word + type + position vectors.
#ifndef ATTUNE_ENGINE_OPS_EMBEDDING_H_
#define ATTUNE_ENGINE_OPS_EMBEDDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Tables are [rows, hidden], borrowed for the call.
struct EmbeddingTables {
  ConstMatrixView words;
  ConstMatrixView types;
  ConstMatrixView positions;
};

// dst[i] = words[token_ids[i]] + types[type_ids[i]] + positions[position_ids[i]], summed in that
// order. REQUIRES: every id is within its table, the three id lists have dst.rows elements.
void SumEmbeddings(const EmbeddingTables& tables, absl::Span<const int32_t> token_ids,
                   absl::Span<const int32_t> type_ids, absl::Span<const int32_t> position_ids,
                   MatrixView dst);

// The same with `words`, [dst.rows, hidden], in place of rows looked up in tables.words: bit for
// bit what SumEmbeddings gives for ids whose rows are these.
void SumGivenEmbeddings(ConstMatrixView words, const EmbeddingTables& tables,
                        absl::Span<const int32_t> type_ids, absl::Span<const int32_t> position_ids,
                        MatrixView dst);

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_EMBEDDING_H_
