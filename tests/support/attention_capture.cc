#include "tests/support/attention_capture.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/tensor/finite.h"

namespace attune::testing {
namespace {

static_assert(std::endian::native == std::endian::little,
              "captured floats are copied as they lie in memory");

// Where `number` stands in the ascending list `chosen`, or -1.
int64_t IndexOf(const std::vector<int64_t>& chosen, int64_t number) {
  const auto found = std::lower_bound(chosen.begin(), chosen.end(), number);
  if (found == chosen.end() || *found != number) return -1;
  return found - chosen.begin();
}

}  // namespace

AttentionCapture::AttentionCapture(std::vector<int64_t> layers, std::vector<int64_t> heads,
                                   int64_t seq)
    : layers_(std::move(layers)), heads_(std::move(heads)), seq_(seq) {
  received_.resize(layers_.size() * heads_.size());
  bytes_.resize(received_.size() * static_cast<size_t>(seq_ * seq_) * sizeof(float));
}

bool AttentionCapture::WantsWeights(int64_t layer, int64_t head) {
  return IndexOf(layers_, layer) >= 0 && IndexOf(heads_, head) >= 0;
}

void AttentionCapture::OnWeights(int64_t text, int64_t layer, int64_t head,
                                 ConstMatrixView weights) {
  ATTUNE_CHECK(text == 0 && WantsWeights(layer, head));
  ATTUNE_CHECK(weights.rows == seq_ && weights.cols == seq_);
  const int64_t slot =
      IndexOf(layers_, layer) * static_cast<int64_t>(heads_.size()) + IndexOf(heads_, head);
  const size_t row_bytes = static_cast<size_t>(seq_) * sizeof(float);
  char* dst = bytes_.data() + static_cast<size_t>(slot * seq_) * row_bytes;
  for (int64_t i = 0; i < seq_; ++i, dst += row_bytes) {
    std::memcpy(dst, weights.row(i).data(), row_bytes);
    finite_ = finite_ && AllFinite(weights.row(i));
  }
  received_[static_cast<size_t>(slot)] = true;
}

absl::StatusOr<std::string> AttentionCapture::TakeBytes() {
  const auto missing = std::count(received_.begin(), received_.end(), false);
  if (missing > 0) {
    return absl::InternalError(absl::StrCat("the forward pass left out ", missing, " of ",
                                            received_.size(), " attention matrices"));
  }
  if (!finite_) return absl::InternalError("an attention matrix holds a value that is not finite");
  return std::move(bytes_);
}

}  // namespace attune::testing
