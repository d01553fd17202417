// Encoding any bytes with fixed tokenizers. The first byte chooses the tokenizer and the options,
// the rest is the text.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"

namespace {

using attune::Encoding;
using attune::TextRange;
using attune::TokenizeOptions;
using attune::Tokenizer;

constexpr char kModel[] = R"(, "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1],
  "sep": ["[SEP]", 2]}, "model": {"type": "WordPiece", "unk_token": "[UNK]",
  "continuing_subword_prefix": "##", "max_input_chars_per_word": 10, "vocab": {"[UNK]": 0,
  "[CLS]": 1, "[SEP]": 2, "[MASK]": 3, "a": 4, "##a": 5, "ab": 6, "##b": 7, "b": 8, ".": 9,
  "\u4e2d": 10, "e": 11, "##e": 12, " ": 13}}, "added_tokens": [
  {"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false,
   "normalized": false, "special": true},
  {"id": 3, "content": "[MASK]", "single_word": true, "lstrip": true, "rstrip": true,
   "normalized": false, "special": true},
  {"id": 14, "content": "B", "single_word": false, "lstrip": true, "rstrip": true,
   "normalized": true, "special": false}]})";

std::unique_ptr<const Tokenizer> Toy(const std::string& front) {
  attune::TokenizerFiles files;
  files.tokenizer_json = front + kModel;
  auto tokenizer = Tokenizer::Create(files);
  ATTUNE_CHECK(tokenizer.ok());
  return *std::move(tokenizer);
}

const Tokenizer& ToyNumber(unsigned number) {
  static const auto* const toys = new std::array<std::unique_ptr<const Tokenizer>, 4>{
      Toy(R"({"normalizer": {"type": "BertNormalizer", "clean_text": true,
              "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
              "pre_tokenizer": {"type": "BertPreTokenizer"})"),
      Toy(R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"},
              {"type": "StripAccents"}, {"type": "Lowercase"}]},
              "pre_tokenizer": {"type": "Whitespace"})"),
      Toy(R"({"normalizer": {"type": "NFD"}, "pre_tokenizer": {"type": "WhitespaceSplit"})"),
      Toy(R"({"normalizer": null, "pre_tokenizer": null)")};
  return *(*toys)[number % toys->size()];
}

void CheckRanges(absl::string_view text, const Encoding& encoding) {
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const TextRange bytes = encoding.byte_ranges[i];
    const TextRange chars = encoding.code_point_ranges[i];
    ATTUNE_CHECK(0 <= bytes.begin && bytes.begin <= bytes.end);
    ATTUNE_CHECK(bytes.end <= static_cast<int64_t>(text.size()));
    const auto begin = static_cast<size_t>(bytes.begin);
    const auto end = static_cast<size_t>(bytes.end);
    ATTUNE_CHECK(begin == text.size() || !attune::IsUtf8Continuation(text[begin]));
    ATTUNE_CHECK(end == text.size() || !attune::IsUtf8Continuation(text[end]));
    ATTUNE_CHECK(chars.begin == attune::CountCodePoints(text.substr(0, begin)));
    ATTUNE_CHECK(chars.end - chars.begin ==
                 attune::CountCodePoints(text.substr(begin, end - begin)));
    ATTUNE_CHECK(encoding.special[i] == (encoding.word_ids[i] < 0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLongestText = 1000;  // checking code points is quadratic
  if (size == 0 || size > kLongestText) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Tokenizer& tokenizer = ToyNumber(data[0]);
  TokenizeOptions options;
  options.specials_as_text = (data[0] & 4) != 0;
  options.offsets = true;
  const auto full = tokenizer.Encode(text, options);
  if (attune::FindInvalidUtf8(text) != absl::string_view::npos) {
    ATTUNE_CHECK(full.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  ATTUNE_CHECK(full.ok());
  CheckRanges(text, *full);

  options.offsets = false;
  options.max_tokens = 2 + data[0] / 8;
  const auto cut = tokenizer.Encode(text, options);
  ATTUNE_CHECK(cut.ok());
  ATTUNE_CHECK(cut->truncated == (full->size() > options.max_tokens));
  ATTUNE_CHECK(cut->size() == std::min(full->size(), options.max_tokens));
  ATTUNE_CHECK(std::equal(cut->ids.begin(), cut->ids.end() - 1, full->ids.begin()));
  return 0;
}
