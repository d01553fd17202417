// Reads vocab.txt, the vocabulary of BERT models that were saved without a tokenizer.json.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "engine/text/json_fields.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/unicode_properties.h"
#include "engine/text/utf8.h"

namespace attune {
namespace {

constexpr absl::string_view kConfigFile = "tokenizer_config.json";

absl::string_view TrimRight(absl::string_view line) {
  while (!line.empty()) {
    const DecodedChar last = DecodeUtf8Before(line, line.size());
    if (!UnicodeProperties::Get().Has(last.code_point, kWhiteSpaceChar)) break;
    line.remove_suffix(last.length);
  }
  return line;
}

absl::StatusOr<std::vector<std::pair<std::string, int32_t>>> ReadLines(absl::string_view text) {
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("vocab.txt: invalid UTF-8 at byte ", invalid));
  }
  std::vector<std::pair<std::string, int32_t>> vocab;
  absl::flat_hash_map<std::string, size_t> known;
  int32_t id = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string piece(TrimRight(text.substr(0, end)));
    // Of equal lines the last counts.
    const auto [it, is_new] = known.try_emplace(piece, vocab.size());
    if (is_new) {
      vocab.emplace_back(piece, id);
    } else {
      vocab[it->second].second = id;
    }
    ++id;
    text = end == absl::string_view::npos ? absl::string_view() : text.substr(end + 1);
  }
  return vocab;
}

// The tokenizers whose pipeline is BERT's.
absl::Status CheckClass(const JsonField& config) {
  const JsonField field = config.Get("tokenizer_class");
  if (field.is_null()) return absl::OkStatus();
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, field.String());
  constexpr std::array<absl::string_view, 6> kClasses = {
      "BertTokenizer",           "BertTokenizerFast", "DistilBertTokenizer",
      "DistilBertTokenizerFast", "ElectraTokenizer",  "ElectraTokenizerFast"};
  for (const absl::string_view known : kClasses) {
    if (name == known) return absl::OkStatus();
  }
  return field.Unsupported(absl::StrCat("tokenizer ", QuoteJson(name), " without tokenizer.json"));
}

// A special token's name: a string, or an object with its content.
absl::StatusOr<std::string> TokenName(const JsonField& field, absl::string_view missing) {
  if (field.is_null()) return std::string(missing);
  if (field.value().is_object()) return field.Get("content").String();
  return field.String();
}

absl::StatusOr<NormalizerPass> ReadNormalizer(const JsonField& config) {
  NormalizerPass pass;
  pass.clean_text = true;
  ATTUNE_ASSIGN_OR_RETURN(pass.lowercase, config.Get("do_lower_case").BoolOr(true));
  ATTUNE_ASSIGN_OR_RETURN(pass.space_chinese_chars,
                          config.Get("tokenize_chinese_chars").BoolOr(true));
  ATTUNE_ASSIGN_OR_RETURN(const bool strip, config.Get("strip_accents").BoolOr(pass.lowercase));
  pass.decompose = strip;
  pass.drop_nonspacing_marks = strip;
  return pass;
}

}  // namespace

absl::StatusOr<TokenizerParts> ReadVocabTxt(absl::string_view vocab_txt,
                                            absl::string_view tokenizer_config_json) {
  Json document = Json::object();
  if (!tokenizer_config_json.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(document, ParseJson(tokenizer_config_json));
  }
  const JsonField config(document, std::string(kConfigFile));
  ATTUNE_RETURN_IF_ERROR(config.ExpectObject());
  ATTUNE_RETURN_IF_ERROR(CheckClass(config));
  ATTUNE_ASSIGN_OR_RETURN(const bool basic, config.Get("do_basic_tokenize").BoolOr(true));
  if (!basic) return config.Get("do_basic_tokenize").Unsupported("false");

  TokenizerParts parts;
  ATTUNE_ASSIGN_OR_RETURN(parts.vocab, ReadLines(vocab_txt));
  ATTUNE_ASSIGN_OR_RETURN(const NormalizerPass normalizer, ReadNormalizer(config));
  parts.normalizer = {normalizer};
  parts.pre_tokenizer = PreTokenizerKind::kBert;

  absl::flat_hash_map<absl::string_view, int32_t> ids;
  for (const auto& [piece, id] : parts.vocab) ids.emplace(piece, id);
  struct Role {
    absl::string_view key;
    absl::string_view name;
    bool required;
  };
  constexpr std::array<Role, 5> kRoles = {{{"unk_token", "[UNK]", true},
                                           {"sep_token", "[SEP]", true},
                                           {"pad_token", "[PAD]", false},
                                           {"cls_token", "[CLS]", true},
                                           {"mask_token", "[MASK]", false}}};
  std::array<int32_t, kRoles.size()> role_ids;
  for (size_t i = 0; i < kRoles.size(); ++i) {
    const JsonField field = config.Get(kRoles[i].key);
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, TokenName(field, kRoles[i].name));
    const auto it = ids.find(name);
    if (it == ids.end()) {
      if (kRoles[i].required) {
        return field.Error(absl::StrCat(QuoteJson(name), " is not in vocab.txt"));
      }
      continue;
    }
    role_ids[i] = it->second;
    AddedToken token;
    token.content = name;
    token.id = it->second;
    token.special = true;
    parts.added_tokens.push_back(token);
    if (kRoles[i].key == "mask_token") parts.mask_token = name;
  }
  parts.model.unknown_id = role_ids[0];
  parts.post_processor = PostProcessor::Bert(/*cls_id=*/role_ids[3], /*sep_id=*/role_ids[1]);
  return parts;
}

}  // namespace attune
