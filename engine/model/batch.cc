#include "engine/model/batch.h"

#include "engine/base/check.h"

namespace attune {

void Batch::Append(absl::Span<const int32_t> ids, absl::Span<const int32_t> types) {
  ATTUNE_CHECK(types.empty() || types.size() == ids.size());
  token_ids.insert(token_ids.end(), ids.begin(), ids.end());
  if (types.empty()) {
    type_ids.resize(token_ids.size(), 0);
  } else {
    type_ids.insert(type_ids.end(), types.begin(), types.end());
  }
  row_begin.push_back(static_cast<int64_t>(token_ids.size()));
}

void Batch::AppendVectors(ConstMatrixView text) {
  Append(std::vector<int32_t>(static_cast<size_t>(text.rows)), {});
  vectors.resize(static_cast<size_t>(texts()));
  vectors.back() = text;
}

void Batch::LimitAttention(const AttentionWindow& window) {
  if (window.is_all()) return;
  windows.resize(static_cast<size_t>(texts()));
  windows.back() = window;
}

AttentionWindow Batch::WindowOf(int64_t text) const {
  const auto index = static_cast<size_t>(text);
  return index < windows.size() ? windows[index] : AttentionWindow();
}

ConstMatrixView Batch::VectorsOf(int64_t text) const {
  const auto index = static_cast<size_t>(text);
  return index < vectors.size() ? vectors[index] : ConstMatrixView();
}

void Batch::Clear() {
  vectors.clear();
  windows.clear();
  token_ids.clear();
  type_ids.clear();
  row_begin.assign(1, 0);
}

}  // namespace attune
