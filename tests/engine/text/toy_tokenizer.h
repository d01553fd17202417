// A small tokenizer.json for tests, whole and valid, to change in one place.
#ifndef ATTUNE_TESTS_ENGINE_TEXT_TOY_TOKENIZER_H_
#define ATTUNE_TESTS_ENGINE_TEXT_TOY_TOKENIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/text/tokenizer.h"
#include "gtest/gtest.h"

namespace attune::testing {

inline Json ToyAddedToken(const std::string& content, int64_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// BERT's pipeline over the pieces [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, the letters a..z
// from 5, and the letters after a first one ("##a") from 31.
inline Json ToyBertJson() {
  Json vocab = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"[MASK]", 4}};
  for (int i = 0; i < 26; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    vocab[letter] = 5 + i;
    vocab["##" + letter] = 31 + i;
  }
  Json added = Json::array();
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    added.push_back(ToyAddedToken(token, vocab[token]));
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", true}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocab}}}};
}

inline absl::StatusOr<std::unique_ptr<const Tokenizer>> CreateToy(const Json& json) {
  TokenizerFiles files;
  files.tokenizer_json = DumpJson(json);
  return Tokenizer::Create(files);
}

inline std::unique_ptr<const Tokenizer> ToyBert() {
  auto tokenizer = CreateToy(ToyBertJson());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_ENGINE_TEXT_TOY_TOKENIZER_H_
