// Remembers measured figures, so that a restart does not measure again.
#ifndef ATTUNE_ENGINE_QUALITY_QUALITY_CACHE_H_
#define ATTUNE_ENGINE_QUALITY_QUALITY_CACHE_H_

#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/quality/compare_vectors.h"

namespace attune {

// All that a measurement depends on. The same key gives the same figures.
struct QualityKey {
  std::string model_revision;
  std::string precision;
  std::string kernels;  // of the candidate
  std::string isa;
  std::string onednn_version;
  int kernel_version = 0;
  std::string texts;  // digest of the built-in texts

  friend bool operator==(const QualityKey&, const QualityKey&) = default;
};

// The key of measuring `candidate` on this machine, over the built-in texts.
QualityKey MakeQualityKey(const Engine& candidate);

// One small JSON file per key. Only an aid: where it cannot read or write, it finds nothing and
// stores nothing. Thread-safe, and safe against other processes: a file appears whole or not at
// all.
class QualityCache {
 public:
  // `folder` is created when first needed. "": remembers nothing.
  explicit QualityCache(std::string folder) : folder_(std::move(folder)) {}

  // Nothing if the file is absent, damaged, or of another key.
  std::optional<QualityFigures> Find(const QualityKey& key) const;
  void Store(const QualityKey& key, const QualityFigures& figures) const;

 private:
  std::string FileOf(const QualityKey& key) const;

  const std::string folder_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_QUALITY_QUALITY_CACHE_H_
