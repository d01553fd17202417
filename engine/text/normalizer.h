// Rewrites text before it is cut into words: cleaning, decomposition, accents, case.
#ifndef ATTUNE_ENGINE_TEXT_NORMALIZER_H_
#define ATTUNE_ENGINE_TEXT_NORMALIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/text/unicode_properties.h"

namespace attune {

// Text with, if they were asked for, the places it came from.
struct NormalizedText {
  std::string bytes;
  // For each byte, where in the original text the character starts that it came from. A replacement
  // or a piece of a decomposition comes from the character it replaces, an inserted character from
  // the one before it.
  std::vector<size_t> origins;

  void Clear() {
    bytes.clear();
    origins.clear();
  }
};

// One pass over the characters. Everything the BERT family's normalizers do is a subset of these
// steps, in this order.
struct NormalizerPass {
  bool clean_text = false;             // drop control characters, make white space U+0020
  bool space_chinese_chars = false;    // put a space on both sides of each
  bool decompose = false;              // canonical decomposition (NFD)
  bool drop_nonspacing_marks = false;  // Mn
  bool drop_marks = false;             // M*
  bool lowercase = false;              // full mapping, no context rules
};

// Immutable and thread-safe.
class Normalizer {
 public:
  // Applies `passes` one after the other; none leaves the text as it is.
  explicit Normalizer(const std::vector<NormalizerPass>& passes);

  // Replaces *dst with `text`, which must be valid UTF-8, normalised. With `origins`, fills
  // dst->origins counting from `text_begin`. `scratch` is overwritten.
  // Time and memory are linear in the text (plus sorting within one run of combining marks).
  void Normalize(absl::string_view text, size_t text_begin, bool origins, NormalizedText* dst,
                 NormalizedText* scratch) const;

  // `text` normalised, for short texts.
  std::string Normalize(absl::string_view text) const;

  // Whether a character that BertNormalizer calls Chinese always ends up with spaces around it.
  bool spaces_chinese_chars() const { return spaces_chinese_chars_; }

 private:
  struct Pass {
    NormalizerPass steps;
    uint16_t relevant_classes;             // no step touches a character without any of these
    std::array<unsigned char, 128> ascii;  // what becomes of it; kDropped if nothing
  };
  class PassRun;

  std::vector<Pass> passes_;
  bool spaces_chinese_chars_ = false;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_NORMALIZER_H_
