#include "engine/quality/quality_texts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/sha256.h"
#include "engine/quality/quality_material.h"

namespace attune {
namespace {

std::string Passage(const internal::Subject& subject) {
  return absl::StrJoin(subject.sentences, " ");
}

// A question, six sentences, three stretches of two or three of them, and the whole passage.
void AppendSubject(const internal::Subject& subject, std::vector<std::string>& texts) {
  const auto& sentences = subject.sentences;
  texts.emplace_back(subject.question);
  texts.insert(texts.end(), sentences.begin(), sentences.end());
  texts.push_back(absl::StrCat(sentences[0], " ", sentences[1]));
  texts.push_back(absl::StrCat(sentences[3], " ", sentences[4], " ", sentences[5]));
  texts.push_back(absl::StrCat(subject.question, " ", sentences[2]));
  texts.push_back(Passage(subject));
}

std::vector<std::string> MakeTexts() {
  std::vector<std::string> texts;
  const absl::Span<const internal::Subject> subjects = internal::Subjects();
  for (const internal::Subject& subject : subjects) AppendSubject(subject, texts);
  // The longest ones: two passages that have nothing to do with each other.
  for (size_t i = 0; i + 1 < subjects.size(); i += 2) {
    texts.push_back(absl::StrCat(Passage(subjects[i]), "\n\n", Passage(subjects[i + 1])));
  }
  for (const char* text : internal::Fragments()) texts.emplace_back(text);
  for (const char* text : internal::OtherLanguages()) texts.emplace_back(text);
  return texts;
}

}  // namespace

const std::vector<std::string>& QualityTexts() {
  static const auto& texts = *new std::vector<std::string>(MakeTexts());
  return texts;
}

std::string QualityTextsDigest() {
  Sha256 digest;
  for (const std::string& text : QualityTexts()) {
    digest.Update(text);
    digest.Update(absl::string_view("\0", 1));  // no text has one
  }
  return digest.HexDigest();
}

}  // namespace attune
