// The built-in texts that a reduced precision is judged on.
#ifndef ATTUNE_ENGINE_QUALITY_QUALITY_TEXTS_H_
#define ATTUNE_ENGINE_QUALITY_QUALITY_TEXTS_H_

#include <string>
#include <vector>

namespace attune {

// More than 256 distinct texts, always the same ones in the same order: questions, sentences,
// passages and pairs of passages on everyday and technical subjects, code, lists, numbers, and
// other languages and scripts. A WordPiece tokenizer with an English vocabulary makes 6 to 256
// tokens of each. Made from quality_material.h on the first call and kept. Thread-safe.
const std::vector<std::string>& QualityTexts();

// Names exactly these texts: a SHA-256 in hex.
std::string QualityTextsDigest();

}  // namespace attune

#endif  // ATTUNE_ENGINE_QUALITY_QUALITY_TEXTS_H_
