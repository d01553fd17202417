#include "engine/ops/embedding.h"

#include "engine/base/check.h"

namespace attune {
namespace {

// dst[i] = word_row(i) + types[type_ids[i]] + positions[position_ids[i]]
template <typename WordRow>
void Sum(WordRow word_row, const EmbeddingTables& tables, absl::Span<const int32_t> type_ids,
         absl::Span<const int32_t> position_ids, MatrixView dst) {
  const auto tokens = static_cast<size_t>(dst.rows);
  ATTUNE_CHECK(type_ids.size() == tokens && position_ids.size() == tokens);
  ATTUNE_CHECK(tables.types.cols == dst.cols && tables.positions.cols == dst.cols);
  for (size_t i = 0; i < tokens; ++i) {
    const float* word = word_row(i);
    const float* type = tables.types.row(type_ids[i]).data();
    const float* position = tables.positions.row(position_ids[i]).data();
    float* sum = dst.row(static_cast<int64_t>(i)).data();
    for (int64_t j = 0; j < dst.cols; ++j) sum[j] = (word[j] + type[j]) + position[j];
  }
}

}  // namespace

void SumEmbeddings(const EmbeddingTables& tables, absl::Span<const int32_t> token_ids,
                   absl::Span<const int32_t> type_ids, absl::Span<const int32_t> position_ids,
                   MatrixView dst) {
  ATTUNE_CHECK(token_ids.size() == static_cast<size_t>(dst.rows) && tables.words.cols == dst.cols);
  Sum([&](size_t i) { return tables.words.row(token_ids[i]).data(); }, tables, type_ids,
      position_ids, dst);
}

void SumGivenEmbeddings(ConstMatrixView words, const EmbeddingTables& tables,
                        absl::Span<const int32_t> type_ids, absl::Span<const int32_t> position_ids,
                        MatrixView dst) {
  ATTUNE_CHECK(words.rows == dst.rows && words.cols == dst.cols);
  Sum([&](size_t i) { return words.row(static_cast<int64_t>(i)).data(); }, tables, type_ids,
      position_ids, dst);
}

}  // namespace attune
