#ifndef ATTUNE_ENGINE_QUALITY_ENCODE_TEXTS_H_
#define ATTUNE_ENGINE_QUALITY_ENCODE_TEXTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/engine.h"
#include "engine/tensor/matrix.h"

namespace attune {

struct EncodeTextsOptions {
  // Threads that compute, the calling one included; at least 1.
  int threads = 1;
  // Called with the texts done so far, one call at a time, on any of those threads. May be empty.
  std::function<void(int64_t done)> on_progress = nullptr;
};

// [texts, dimension]: the vectors of `texts` under the model's own pooling, each cut on the right
// to the folder's own limit. Blocks until all are done. kInvalidArgument, naming the text by its
// number from 1, for one that is not UTF-8; kInternal for a vector that is not finite.
absl::StatusOr<Matrix> EncodeTexts(const std::shared_ptr<const Engine>& engine,
                                   absl::Span<const std::string> texts,
                                   const EncodeTextsOptions& options);

}  // namespace attune

#endif  // ATTUNE_ENGINE_QUALITY_ENCODE_TEXTS_H_
