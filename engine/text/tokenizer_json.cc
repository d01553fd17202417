// Reads tokenizer.json, the format of Hugging Face tokenizers.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "engine/text/json_fields.h"
#include "engine/text/tokenizer_parts.h"

namespace attune {
namespace {

constexpr int64_t kMaxId = INT32_MAX - 1;  // so that an exclusive limit still fits
constexpr int64_t kMaxWordCodePoints = int64_t{1} << 32;

using VocabIndex = absl::flat_hash_map<absl::string_view, int32_t>;

absl::StatusOr<int32_t> ReadId(const JsonField& field) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t id, field.Integer(0, kMaxId));
  return static_cast<int32_t>(id);
}

absl::Status ReadNormalizer(const JsonField& field, std::vector<NormalizerPass>* passes) {
  if (field.is_null()) return absl::OkStatus();
  ATTUNE_RETURN_IF_ERROR(field.ExpectObject());
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, field.Get("type").String());
  NormalizerPass pass;
  if (type == "BertNormalizer") {
    ATTUNE_ASSIGN_OR_RETURN(pass.clean_text, field.Get("clean_text").Bool());
    ATTUNE_ASSIGN_OR_RETURN(pass.space_chinese_chars, field.Get("handle_chinese_chars").Bool());
    ATTUNE_ASSIGN_OR_RETURN(pass.lowercase, field.Get("lowercase").Bool());
    // Absent means: as lowercase.
    ATTUNE_ASSIGN_OR_RETURN(const bool strip, field.Get("strip_accents").BoolOr(pass.lowercase));
    pass.decompose = strip;
    pass.drop_nonspacing_marks = strip;
  } else if (type == "Lowercase") {
    pass.lowercase = true;
  } else if (type == "NFD") {
    pass.decompose = true;
  } else if (type == "StripAccents") {
    pass.drop_marks = true;
  } else if (type == "Sequence") {
    const JsonField members = field.Get("normalizers");
    ATTUNE_RETURN_IF_ERROR(members.ExpectArray());
    for (size_t i = 0; i < members.value().size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(ReadNormalizer(members.At(i), passes));
    }
    return absl::OkStatus();
  } else {
    return field.Unsupported(absl::StrCat("normalizer ", QuoteJson(type)));
  }
  passes->push_back(pass);
  return absl::OkStatus();
}

absl::StatusOr<PreTokenizerKind> ReadPreTokenizer(const JsonField& field) {
  if (field.is_null()) return PreTokenizerKind::kNone;
  ATTUNE_RETURN_IF_ERROR(field.ExpectObject());
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, field.Get("type").String());
  if (type == "BertPreTokenizer") return PreTokenizerKind::kBert;
  if (type == "Whitespace") return PreTokenizerKind::kWhitespace;
  if (type == "WhitespaceSplit") return PreTokenizerKind::kWhitespaceSplit;
  return field.Unsupported(absl::StrCat("pre-tokenizer ", QuoteJson(type)));
}

// Files of old versions have no type; the fields tell.
bool IsWordPiece(const JsonField& model) {
  if (!model.Get("type").is_null()) return model.Get("type").Is("WordPiece");
  return model.Get("merges").is_null() && !model.Get("vocab").is_null() &&
         !model.Get("unk_token").is_null() && !model.Get("continuing_subword_prefix").is_null() &&
         !model.Get("max_input_chars_per_word").is_null();
}

absl::Status ReadModel(const JsonField& model, TokenizerParts* parts, VocabIndex* index) {
  ATTUNE_RETURN_IF_ERROR(model.ExpectObject());
  if (!IsWordPiece(model)) {
    return model.Unsupported(absl::StrCat("model ", Shown(model.Get("type").value())));
  }
  const JsonField vocab = model.Get("vocab");
  ATTUNE_RETURN_IF_ERROR(vocab.ExpectObject());
  parts->vocab.reserve(vocab.value().size());
  for (auto it = vocab.value().begin(); it != vocab.value().end(); ++it) {
    const absl::StatusOr<int32_t> id = ReadId(JsonField(*it, vocab.path()));
    if (!id.ok()) {
      return JsonField(*it, absl::StrCat(vocab.path(), "[", QuoteJson(it.key()), "]"))
          .Error(absl::StrCat("must be a whole number from 0 to ", kMaxId));
    }
    parts->vocab.emplace_back(it.key(), *id);
  }
  index->reserve(parts->vocab.size());
  for (const auto& [piece, id] : parts->vocab) index->emplace(piece, id);

  ATTUNE_ASSIGN_OR_RETURN(parts->model.continuing_prefix,
                          model.Get("continuing_subword_prefix").String());
  ATTUNE_ASSIGN_OR_RETURN(parts->model.max_word_code_points,
                          model.Get("max_input_chars_per_word").Integer(0, kMaxWordCodePoints));
  const JsonField unknown = model.Get("unk_token");
  ATTUNE_ASSIGN_OR_RETURN(const std::string unknown_token, unknown.String());
  const auto it = index->find(unknown_token);
  if (it == index->end()) {
    return unknown.Error(absl::StrCat(QuoteJson(unknown_token), " is not in ", vocab.path()));
  }
  parts->model.unknown_id = it->second;
  return absl::OkStatus();
}

absl::StatusOr<AddedToken> ReadAddedToken(const JsonField& field) {
  ATTUNE_RETURN_IF_ERROR(field.ExpectObject());
  AddedToken token;
  ATTUNE_ASSIGN_OR_RETURN(token.content, field.Get("content").String());
  ATTUNE_ASSIGN_OR_RETURN(token.id, ReadId(field.Get("id")));
  ATTUNE_ASSIGN_OR_RETURN(token.single_word, field.Get("single_word").Bool());
  ATTUNE_ASSIGN_OR_RETURN(token.lstrip, field.Get("lstrip").Bool());
  ATTUNE_ASSIGN_OR_RETURN(token.rstrip, field.Get("rstrip").Bool());
  ATTUNE_ASSIGN_OR_RETURN(token.normalized, field.Get("normalized").Bool());
  ATTUNE_ASSIGN_OR_RETURN(token.special, field.Get("special").Bool());
  return token;
}

// The reference ignores the declared ids and counts on from the model's vocabulary. A file where
// that gives another id than it declares was made for something else, and is refused.
absl::Status ReadAddedTokens(const JsonField& field, const VocabIndex& vocab,
                             std::vector<AddedToken>* tokens) {
  if (field.is_null()) return absl::OkStatus();
  ATTUNE_RETURN_IF_ERROR(field.ExpectArray());
  auto next_id = static_cast<int64_t>(vocab.size());
  absl::flat_hash_map<std::string, int64_t> assigned;
  for (size_t i = 0; i < field.value().size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(field.At(i)));
    if (token.content.empty()) continue;
    const auto in_vocab = vocab.find(token.content);
    const auto [it, is_new] = assigned.try_emplace(
        token.content, in_vocab != vocab.end() ? int64_t{in_vocab->second} : next_id);
    if (is_new && in_vocab == vocab.end()) ++next_id;
    if (token.id != it->second) {
      return field.At(i).Error(absl::StrCat("token ", QuoteJson(token.content), " declares id ",
                                            token.id, ", but its id is ", it->second,
                                            in_vocab != vocab.end()
                                                ? " in the model's vocabulary"
                                                : " counting on from the model's vocabulary"));
    }
    tokens->push_back(std::move(token));
  }
  return absl::OkStatus();
}

absl::StatusOr<TemplatePiece> ReadTemplateSpecial(const JsonField& special,
                                                  const JsonField& special_tokens) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, special.Get("id").String());
  const JsonField token = special_tokens.Get(name);
  if (!token.value().is_object()) {
    return special.Error(absl::StrCat(QuoteJson(name), " is not in ", special_tokens.path()));
  }
  const JsonField ids = token.Get("ids");
  ATTUNE_RETURN_IF_ERROR(ids.ExpectArray());
  TemplatePiece piece;
  piece.kind = TemplatePiece::Kind::kSpecial;
  for (size_t i = 0; i < ids.value().size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const int32_t id, ReadId(ids.At(i)));
    piece.ids.push_back(id);
  }
  return piece;
}

absl::StatusOr<Template> ReadTemplate(const JsonField& field, const JsonField& special_tokens,
                                      bool is_pair) {
  ATTUNE_RETURN_IF_ERROR(field.ExpectArray());
  Template result;
  for (size_t i = 0; i < field.value().size(); ++i) {
    const JsonField entry = field.At(i);
    ATTUNE_RETURN_IF_ERROR(entry.ExpectObject());
    const JsonField special = entry.Get("SpecialToken");
    const JsonField sequence = entry.Get("Sequence");
    const JsonField& chosen = special.value().is_object() ? special : sequence;
    ATTUNE_RETURN_IF_ERROR(chosen.ExpectObject());
    TemplatePiece piece;
    if (special.value().is_object()) {
      ATTUNE_ASSIGN_OR_RETURN(piece, ReadTemplateSpecial(special, special_tokens));
    } else if (sequence.Get("id").Is("A")) {
      piece.kind = TemplatePiece::Kind::kFirstText;
    } else if (sequence.Get("id").Is("B") && is_pair) {
      piece.kind = TemplatePiece::Kind::kSecondText;
    } else {
      return sequence.Get("id").Error(is_pair ? "must be \"A\" or \"B\"" : "must be \"A\"");
    }
    ATTUNE_ASSIGN_OR_RETURN(piece.type_id, ReadId(chosen.Get("type_id")));
    result.pieces.push_back(std::move(piece));
  }
  return result;
}

// ["[SEP]", 102]
absl::StatusOr<int32_t> ReadTokenAndId(const JsonField& field) {
  ATTUNE_RETURN_IF_ERROR(field.ExpectArray());
  if (field.value().size() != 2) return field.Error("must be a token and its id");
  return ReadId(field.At(1));
}

absl::StatusOr<PostProcessor> ReadPostProcessor(const JsonField& field) {
  if (field.is_null()) return PostProcessor::None();
  ATTUNE_RETURN_IF_ERROR(field.ExpectObject());
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, field.Get("type").String());
  if (type == "BertProcessing") {
    ATTUNE_ASSIGN_OR_RETURN(const int32_t cls, ReadTokenAndId(field.Get("cls")));
    ATTUNE_ASSIGN_OR_RETURN(const int32_t sep, ReadTokenAndId(field.Get("sep")));
    return PostProcessor::Bert(cls, sep);
  }
  if (type != "TemplateProcessing") {
    return field.Unsupported(absl::StrCat("post-processor ", QuoteJson(type)));
  }
  const JsonField special_tokens = field.Get("special_tokens");
  ATTUNE_RETURN_IF_ERROR(special_tokens.ExpectObject());
  PostProcessor result;
  ATTUNE_ASSIGN_OR_RETURN(result.single,
                          ReadTemplate(field.Get("single"), special_tokens, /*is_pair=*/false));
  ATTUNE_ASSIGN_OR_RETURN(result.pair,
                          ReadTemplate(field.Get("pair"), special_tokens, /*is_pair=*/true));
  return result;
}

void LogIgnored(const JsonField& root) {
  std::vector<std::string> ignored;
  for (const char* key : {"truncation", "padding", "decoder"}) {
    if (!root.Get(key).is_null()) ignored.push_back(key);
  }
  if (ignored.empty()) return;
  std::string names;
  for (const std::string& name : ignored) absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  Log(LogLevel::kInfo, "tokenizer_fields_ignored",
      "limits come with each request, nothing is padded, and ids are not decoded",
      {{"fields", names}});
}

}  // namespace

absl::StatusOr<TokenizerParts> ReadTokenizerJson(absl::string_view json) {
  ATTUNE_ASSIGN_OR_RETURN(const Json document, ParseJson(json));
  const JsonField root(document, "");
  if (!document.is_object()) return absl::InvalidArgumentError("the file must be a JSON object");
  const JsonField version = root.Get("version");
  if (!version.is_null() && !version.Is("1.0")) {
    return version.Error(absl::StrCat("must be \"1.0\", not ", Shown(version.value())));
  }
  TokenizerParts parts;
  ATTUNE_RETURN_IF_ERROR(ReadNormalizer(root.Get("normalizer"), &parts.normalizer));
  ATTUNE_ASSIGN_OR_RETURN(parts.pre_tokenizer, ReadPreTokenizer(root.Get("pre_tokenizer")));
  VocabIndex vocab;
  ATTUNE_RETURN_IF_ERROR(ReadModel(root.Get("model"), &parts, &vocab));
  ATTUNE_RETURN_IF_ERROR(ReadAddedTokens(root.Get("added_tokens"), vocab, &parts.added_tokens));
  ATTUNE_ASSIGN_OR_RETURN(parts.post_processor, ReadPostProcessor(root.Get("post_processor")));
  for (const char* mask : {"[MASK]", "<mask>"}) {
    const bool added =
        std::any_of(parts.added_tokens.begin(), parts.added_tokens.end(),
                    [mask](const AddedToken& token) { return token.content == mask; });
    if (added) parts.mask_token = mask;
  }
  LogIgnored(root);
  return parts;
}

}  // namespace attune
