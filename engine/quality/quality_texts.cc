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

// A question, six sentences, and two stretches of two.
void AppendSubject(const internal::Subject& subject, std::vector<std::string>& texts) {
  const auto& sentences = subject.sentences;
  texts.emplace_back(subject.question);
  texts.insert(texts.end(), sentences.begin(), sentences.end());
  texts.push_back(absl::StrCat(sentences[0], " ", sentences[1]));
  texts.push_back(absl::StrCat(subject.question, " ", sentences[2]));
}

// Each passage once, since a server that measures is not ready yet and long texts take the most of
// it: by turns one passage alone, another, and two in one text that have nothing to do with each
// other, the longest ones.
void AppendPassages(absl::Span<const internal::Subject> subjects, std::vector<std::string>& texts) {
  for (size_t i = 0; i + 3 < subjects.size(); i += 4) {
    texts.push_back(Passage(subjects[i]));
    texts.push_back(Passage(subjects[i + 1]));
    texts.push_back(absl::StrCat(Passage(subjects[i + 2]), "\n\n", Passage(subjects[i + 3])));
  }
}

std::vector<std::string> MakeTexts() {
  std::vector<std::string> texts;
  const absl::Span<const internal::Subject> subjects = internal::Subjects();
  for (const internal::Subject& subject : subjects) AppendSubject(subject, texts);
  AppendPassages(subjects, texts);
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
