#include "client/cli/attention_flags.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/enum_names.h"
#include "client/cli/index_text.h"
#include "client/cli/text_input.h"

namespace attune::cli {
namespace {

constexpr const char* kTextGroup = "Text";
constexpr const char* kSelectionGroup = "Layers and heads";
constexpr const char* kMapGroup = "Map";
constexpr const char* kSizeGroup = "Size";
constexpr const char* kWhatIfGroup = "What if";
constexpr const char* kAnswersGroup = "Further answers";

absl::Status NotAboveZero(absl::string_view text, absl::string_view most) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a number above 0", most));
}

}  // namespace

template <typename Enum>
Flag AttentionFlags::AddEnum(Flags& flags, const std::string& name, const std::string& description,
                             std::function<void(Enum value)> set) {
  const auto read = [set = std::move(set)](absl::string_view text) {
    set(EnumValue<Enum>(text));
    return absl::OkStatus();
  };
  return flags.AddRead(name, read, description).Takes("NAME").OneOf(EnumNames<Enum>());
}

Flag AttentionFlags::AddCount(Flags& flags, const std::string& name, const std::string& description,
                              std::function<void(uint32_t value)> set) {
  const auto read = [set = std::move(set)](absl::string_view text) {
    uint32_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value == 0) return NotAboveZero(text, "");
    set(value);
    return absl::OkStatus();
  };
  return flags.AddRead(name, read, description).Takes("N");
}

Flag AttentionFlags::AddSwitch(Flags& flags, const std::string& name,
                               const std::string& description,
                               void (v1::AttentionQuery::*set)(bool)) {
  return flags.AddSwitch(
      name, [this, set] { (query_.*set)(true); }, description);
}

void AttentionFlags::AddTextTo(Flags& flags) {
  flags.Add("text", texts_, "The text; with --pair two texts").Required();
  Flag pair = flags.AddSwitch("--pair", pair_, "Take two texts, which the model reads together")
                  .Group(kTextGroup);
  flags
      .AddSwitch("--token-ids", token_ids_,
                 "TEXT is token ids, taken as they are: \"101 7592 102\"")
      .Excludes(pair)
      .Group(kTextGroup);
  truncation_.AddTo(flags, kTextGroup);
  AddSwitch(flags, "--specials-as-text", "\"[SEP]\" and the like in the text are plain text",
            &v1::AttentionQuery::set_specials_as_text)
      .Group(kTextGroup);
}

void AttentionFlags::AddSelectionTo(Flags& flags) {
  const auto layers = [this](absl::string_view text) {
    const absl::StatusOr<IndexSelection> selection = ParseIndices(text);
    if (!selection.ok()) return selection.status();
    for (const int32_t layer : selection->numbers) query_.add_layers(layer);
    for (const v1::IndexRange& range : selection->ranges) *query_.add_layer_ranges() = range;
    return absl::OkStatus();
  };
  const auto heads = [this](absl::string_view text) {
    const absl::StatusOr<IndexSelection> selection = ParseIndices(text);
    if (!selection.ok()) return selection.status();
    for (const int32_t head : selection->numbers) query_.add_heads(head);
    for (const v1::IndexRange& range : selection->ranges) *query_.add_head_ranges() = range;
    return absl::OkStatus();
  };
  flags.AddRead("-l,--layer", layers, "Layers, from 0: 3 or 0,2 or 4:6 (4 and 5) or -1 (the last)")
      .Takes("LIST")
      .Repeatable()
      .Group(kSelectionGroup);
  flags.AddRead("--head", heads, "Heads of each layer, likewise")
      .Takes("LIST")
      .Repeatable()
      .Group(kSelectionGroup);
}

void AttentionFlags::AddMatrixTo(Flags& flags) {
  AddEnum<v1::AttentionMatrix>(flags, "-m,--matrix",
                               "What is shown (default: weights); none for statistics alone",
                               [this](v1::AttentionMatrix value) { query_.set_matrix(value); })
      .Group(kMapGroup);
  AddEnum<v1::AttentionLevel>(flags, "--level", "Tokens, or words put together from them",
                              [this](v1::AttentionLevel value) { query_.set_level(value); })
      .Group(kMapGroup);
  const auto span = [this](absl::string_view text) {
    const auto range = ParseRange(text);
    if (!range.ok()) return range.status();
    v1::ByteRange& bytes = *query_.add_spans();
    bytes.set_begin(range->first);
    bytes.set_end(range->second);
    return absl::OkStatus();
  };
  flags
      .AddRead("--span", span,
               "With --level word: bytes BEGIN to END - 1 of the text are a word; repeatable")
      .Takes("BEGIN:END")
      .Repeatable()
      .Group(kMapGroup);
  AddEnum<v1::AttentionSpecials>(
      flags, "--specials", "[CLS], [SEP]: kept, left out, or left out and each row rescaled",
      [this](v1::AttentionSpecials value) { query_.set_specials(value); })
      .Group(kMapGroup);
}

void AttentionFlags::AddPartTo(Flags& flags) {
  AddEnum<v1::AttentionReduction>(
      flags, "--head-reduction", "One map of all chosen heads",
      [this](v1::AttentionReduction value) { query_.set_head_reduction(value); })
      .Group(kMapGroup);
  AddEnum<v1::AttentionReduction>(
      flags, "--layer-reduction", "One map of all chosen layers: mean",
      [this](v1::AttentionReduction value) { query_.set_layer_reduction(value); })
      .Group(kMapGroup);
  AddEnum<v1::AttentionAxes>(flags, "--specials-axes",
                             "Leave specials out of rows and columns, or of columns (keys) alone",
                             [this](v1::AttentionAxes value) { query_.set_specials_axes(value); })
      .Group(kMapGroup);
  AddEnum<v1::AttentionBlock>(
      flags, "--block", "With --pair: ab is from the first to the second; mass sums up all four",
      [this](v1::AttentionBlock value) { query_.set_block(value); })
      .Group(kMapGroup);
  AddRange(flags, "--queries", "Only these rows (tokens, or words), e.g. 2:5",
           &v1::AttentionQuery::mutable_query_range);
  AddRange(flags, "--keys", "Only these columns", &v1::AttentionQuery::mutable_key_range);
  AddSwitch(flags, "--pooled-queries", "One row: what the embedding is pooled from",
            &v1::AttentionQuery::set_pooled_queries)
      .Group(kMapGroup);
}

void AttentionFlags::AddRange(Flags& flags, const std::string& name, const std::string& description,
                              v1::TokenRange* (v1::AttentionQuery::*field)()) {
  const auto read = [this, field](absl::string_view text) {
    const auto range = ParseRange(text);
    if (!range.ok()) return range.status();
    (query_.*field)()->set_begin(range->first);
    (query_.*field)()->set_end(range->second);
    return absl::OkStatus();
  };
  flags.AddRead(name, read, description).Takes("BEGIN:END").Group(kMapGroup);
}

void AttentionFlags::AddSparsityTo(Flags& flags) {
  Flag top_k = AddCount(flags, "--top-k", "Only the N largest values of each row",
                        [this](uint32_t value) { query_.mutable_sparsity()->set_top_k(value); });
  const auto mass = [this](absl::string_view text) {
    float value = 0;
    const bool is_share = absl::SimpleAtof(text, &value) && value > 0 && value <= 1;
    if (!is_share) return NotAboveZero(text, " and up to 1");
    query_.mutable_sparsity()->set_mass(value);
    return absl::OkStatus();
  };
  Flag share =
      flags.AddRead("--mass", mass, "Only the largest that reach this share of a row's sum")
          .Takes("SHARE")
          .Excludes(top_k);
  Flag max_k =
      AddCount(flags, "--max-k", "With --mass: at most N values of a row", [this](uint32_t value) {
        query_.mutable_sparsity()->set_max_k(value);
      }).Needs(share);
  Flag pool = AddCount(flags, "--pool", "A small picture of at most N rows and columns",
                       [this](uint32_t value) { query_.mutable_pool()->set_size(value); });
  Flag reduction =
      AddEnum<v1::AttentionReduction>(
          flags, "--pool-reduction",
          "With --pool: each cell is the max (default) or mean of its part",
          [this](v1::AttentionReduction value) { query_.mutable_pool()->set_reduction(value); })
          .Needs(pool);
  for (Flag option : {top_k, share, max_k, pool, reduction}) option.Group(kSizeGroup);
}

void AttentionFlags::AddEncodingTo(Flags& flags, v1::AttentionEncoding usual) {
  query_.set_encoding(usual);
  AddEnum<v1::AttentionEncoding>(
      flags, "--encoding", "How numbers travel: 4, 2 or 1 bytes each",
      [this](v1::AttentionEncoding value) { query_.set_encoding(value); })
      .Default(EnumName(usual))
      .Group(kSizeGroup);
}

void AttentionFlags::AddMaxBytesTo(Flags& flags) {
  const auto max_bytes = [this](absl::string_view text) {
    uint64_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value == 0) return NotAboveZero(text, "");
    query_.set_max_bytes(value);
    return absl::OkStatus();
  };
  flags
      .AddRead("--max-bytes", max_bytes, "Ask for one reply of at most N bytes instead of a stream")
      .Takes("N")
      .Group(kSizeGroup);
}

void AttentionFlags::AddChangesTo(Flags& flags) {
  const auto ablate = [this](absl::string_view text) {
    absl::StatusOr<v1::HeadAblation> ablation = ParseAblation(text);
    if (!ablation.ok()) return ablation.status();
    *query_.add_ablate() = *std::move(ablation);
    return absl::OkStatus();
  };
  flags
      .AddRead(
          "--ablate", ablate,
          "Switch a head off: 2/5 is head 5 of layer 2, 2 all of layer 2; =uniform spreads its "
          "weights evenly instead of making them 0; repeatable")
      .Takes("LAYER[/HEAD]")
      .Repeatable()
      .Group(kWhatIfGroup);
  const auto mask = [this](absl::string_view text) {
    const absl::StatusOr<std::vector<uint32_t>> tokens = ParseNumbers(text);
    if (!tokens.ok()) return tokens.status();
    for (const uint32_t token : *tokens) query_.add_mask_tokens(token);
    return absl::OkStatus();
  };
  flags.AddRead("--mask-tokens", mask, "Put the mask token in place of these, e.g. 3,4")
      .Takes("LIST")
      .Repeatable()
      .Group(kWhatIfGroup);
  AddMaskTo(flags);
}

void AttentionFlags::AddMaskTo(Flags& flags) {
  Flag causal = flags
                    .AddSwitch(
                        "--causal", [this] { query_.mutable_mask()->mutable_causal(); },
                        "Tokens look only at themselves and those before, as in a language model")
                    .Group(kWhatIfGroup);
  const auto window = [this](absl::string_view text) {
    const auto sides = ParseWindow(text);
    if (!sides.ok()) return sides.status();
    v1::AttentionMask::Window& mask = *query_.mutable_mask()->mutable_window();
    mask.set_left(sides->first);
    mask.set_right(sides->second);
    return absl::OkStatus();
  };
  flags.AddRead("--window", window, "Tokens look only at so many before and after them")
      .Takes("LEFT:RIGHT")
      .Excludes(causal)
      .Group(kWhatIfGroup);
}

void AttentionFlags::AddErasureTo(Flags& flags) {
  AddEnum<v1::TokenErasure>(flags, "--erasure",
                            "How far the embedding moves without each token, removed or masked",
                            [this](v1::TokenErasure value) { query_.set_erasure(value); })
      .Group(kWhatIfGroup);
}

void AttentionFlags::AddAnswersTo(Flags& flags) {
  AddSwitch(flags, "--statistics", "Statistics of each chosen head, as `attune heads` shows them",
            &v1::AttentionQuery::set_statistics)
      .Group(kAnswersGroup);
  AddSwitch(flags, "--mixing-ratio",
            "Of each token, the share of a layer's attention that comes from others",
            &v1::AttentionQuery::set_mixing_ratio)
      .Group(kAnswersGroup);
  AddSwitch(flags, "--want-embedding", "The text's vector as well",
            &v1::AttentionQuery::set_want_embedding)
      .Group(kAnswersGroup);
}

absl::Status AttentionFlags::CheckTexts() const {
  const size_t wanted = pair_ ? 2 : 1;
  if (texts_.size() == wanted) {
    if (!token_ids_) return absl::OkStatus();
    const absl::StatusOr<TokenIdList> ids = ParseTokenIds(texts_[0]);
    return ids.ok()
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("--token-ids: ", ids.status().message()));
  }
  return absl::InvalidArgumentError(
      pair_ ? absl::StrCat("--pair takes two texts; ", texts_.size(), " given")
            : absl::StrCat(texts_.size(), " texts given; --pair lets the model read two together"));
}

v1::AttentionQuery AttentionFlags::Query() const {
  v1::AttentionQuery query = query_;
  if (pair_) {
    query.mutable_text_pair()->set_first(texts_[0]);
    query.mutable_text_pair()->set_second(texts_[1]);
  } else if (token_ids_) {
    const TokenIdList ids = *ParseTokenIds(texts_[0]);  // CheckTexts has read them as well
    query.mutable_token_ids()->mutable_values()->Add(ids.begin(), ids.end());
  } else {
    query.set_text(texts_[0]);
  }
  truncation_.SetOn(query);
  return query;
}

}  // namespace attune::cli
