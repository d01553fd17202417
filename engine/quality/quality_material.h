// Private to engine/quality: what the built-in texts are made from, written for this purpose.
#ifndef ATTUNE_ENGINE_QUALITY_QUALITY_MATERIAL_H_
#define ATTUNE_ENGINE_QUALITY_QUALITY_MATERIAL_H_

#include <array>

#include "absl/types/span.h"

namespace attune::internal {

// One subject: a question, and sentences that make a passage in this order.
struct Subject {
  const char* question;
  std::array<const char*, 6> sentences;
};

absl::Span<const Subject> Subjects();

// Complete texts: code, lists, tables, numbers, records.
absl::Span<const char* const> Fragments();

// Complete texts in languages other than English, several scripts.
absl::Span<const char* const> OtherLanguages();

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_QUALITY_QUALITY_MATERIAL_H_
