#include "engine/ops/embedding.h"

#include "engine/base/check.h"

namespace attune {

void SumEmbeddings(const EmbeddingTables& tables, absl::Span<const int32_t> token_ids,
                   absl::Span<const int32_t> type_ids, absl::Span<const int32_t> position_ids,
                   MatrixView dst) {
  const auto tokens = static_cast<size_t>(dst.rows);
  ATTUNE_CHECK(token_ids.size() == tokens && type_ids.size() == tokens &&
               position_ids.size() == tokens);
  ATTUNE_CHECK(tables.words.cols == dst.cols && tables.types.cols == dst.cols &&
               tables.positions.cols == dst.cols);
  for (size_t i = 0; i < tokens; ++i) {
    const float* word = tables.words.row(token_ids[i]).data();
    const float* type = tables.types.row(type_ids[i]).data();
    const float* position = tables.positions.row(position_ids[i]).data();
    float* sum = dst.row(static_cast<int64_t>(i)).data();
    for (int64_t j = 0; j < dst.cols; ++j) sum[j] = (word[j] + type[j]) + position[j];
  }
}

}  // namespace attune
