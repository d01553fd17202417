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

CLI::Option* AttentionFlags::Add(CLI::App& app, const std::string& name,
                                 const std::string& description, Reader read) {
  const auto callback = [name, read = std::move(read)](const CLI::results_t& values) {
    for (const std::string& value : values) {
      const absl::Status status = read(value);
      if (!status.ok()) throw CLI::ValidationError(name, std::string(status.message()));
    }
    return true;
  };
  return app.add_option(name, callback, description);
}

template <typename Enum>
CLI::Option* AttentionFlags::AddEnum(CLI::App& app, const std::string& name,
                                     const std::string& description,
                                     std::function<void(Enum value)> set) {
  const auto read = [set = std::move(set)](absl::string_view text) {
    set(EnumValue<Enum>(text));
    return absl::OkStatus();
  };
  return Add(app, name, description, read)
      ->type_name("NAME")
      ->check(CLI::IsMember(EnumNames<Enum>()));
}

CLI::Option* AttentionFlags::AddCount(CLI::App& app, const std::string& name,
                                      const std::string& description,
                                      std::function<void(uint32_t value)> set) {
  const auto read = [set = std::move(set)](absl::string_view text) {
    uint32_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value == 0) return NotAboveZero(text, "");
    set(value);
    return absl::OkStatus();
  };
  return Add(app, name, description, read)->type_name("N");
}

CLI::Option* AttentionFlags::AddSwitch(CLI::App& app, const std::string& name,
                                       const std::string& description,
                                       void (v1::AttentionQuery::*set)(bool)) {
  return app.add_flag_callback(
      name, [this, set] { (query_.*set)(true); }, description);
}

void AttentionFlags::AddTextTo(CLI::App& app) {
  app.add_option("text", texts_, "The text; with --pair two texts")->required();
  CLI::Option* pair =
      app.add_flag("--pair", pair_, "Take two texts, which the model reads together")
          ->group(kTextGroup);
  app.add_flag("--token-ids", token_ids_, "TEXT is token ids, taken as they are: \"101 7592 102\"")
      ->excludes(pair)
      ->group(kTextGroup);
  truncation_.AddTo(app, kTextGroup);
  AddSwitch(app, "--specials-as-text", "\"[SEP]\" and the like in the text are plain text",
            &v1::AttentionQuery::set_specials_as_text)
      ->group(kTextGroup);
}

void AttentionFlags::AddSelectionTo(CLI::App& app) {
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
  Add(app, "-l,--layer", "Layers, from 0: 3 or 0,2 or 4:6 (4 and 5) or -1 (the last)", layers)
      ->type_name("LIST")
      ->take_all()
      ->group(kSelectionGroup);
  Add(app, "--head", "Heads of each layer, likewise", heads)
      ->type_name("LIST")
      ->take_all()
      ->group(kSelectionGroup);
}

void AttentionFlags::AddMatrixTo(CLI::App& app) {
  AddEnum<v1::AttentionMatrix>(app, "-m,--matrix",
                               "What is shown (default: weights); none for statistics alone",
                               [this](v1::AttentionMatrix value) { query_.set_matrix(value); })
      ->group(kMapGroup);
  AddEnum<v1::AttentionLevel>(app, "--level", "Tokens, or words put together from them",
                              [this](v1::AttentionLevel value) { query_.set_level(value); })
      ->group(kMapGroup);
  const auto span = [this](absl::string_view text) {
    const auto range = ParseRange(text);
    if (!range.ok()) return range.status();
    v1::ByteRange& bytes = *query_.add_spans();
    bytes.set_begin(range->first);
    bytes.set_end(range->second);
    return absl::OkStatus();
  };
  Add(app, "--span", "With --level word: bytes BEGIN to END - 1 of the text are a word; repeatable",
      span)
      ->type_name("BEGIN:END")
      ->take_all()
      ->group(kMapGroup);
  AddEnum<v1::AttentionSpecials>(
      app, "--specials", "[CLS], [SEP]: kept, left out, or left out and each row rescaled",
      [this](v1::AttentionSpecials value) { query_.set_specials(value); })
      ->group(kMapGroup);
}

void AttentionFlags::AddPartTo(CLI::App& app) {
  AddEnum<v1::AttentionReduction>(
      app, "--head-reduction", "One map of all chosen heads",
      [this](v1::AttentionReduction value) { query_.set_head_reduction(value); })
      ->group(kMapGroup);
  AddEnum<v1::AttentionReduction>(
      app, "--layer-reduction", "One map of all chosen layers: mean",
      [this](v1::AttentionReduction value) { query_.set_layer_reduction(value); })
      ->group(kMapGroup);
  AddEnum<v1::AttentionAxes>(app, "--specials-axes",
                             "Leave specials out of rows and columns, or of columns (keys) alone",
                             [this](v1::AttentionAxes value) { query_.set_specials_axes(value); })
      ->group(kMapGroup);
  AddEnum<v1::AttentionBlock>(
      app, "--block", "With --pair: ab is from the first to the second; mass sums up all four",
      [this](v1::AttentionBlock value) { query_.set_block(value); })
      ->group(kMapGroup);
  AddRange(app, "--queries", "Only these rows (tokens, or words), e.g. 2:5",
           &v1::AttentionQuery::mutable_query_range);
  AddRange(app, "--keys", "Only these columns", &v1::AttentionQuery::mutable_key_range);
  AddSwitch(app, "--pooled-queries", "One row: what the embedding is pooled from",
            &v1::AttentionQuery::set_pooled_queries)
      ->group(kMapGroup);
}

void AttentionFlags::AddRange(CLI::App& app, const std::string& name,
                              const std::string& description,
                              v1::TokenRange* (v1::AttentionQuery::*field)()) {
  const auto read = [this, field](absl::string_view text) {
    const auto range = ParseRange(text);
    if (!range.ok()) return range.status();
    (query_.*field)()->set_begin(range->first);
    (query_.*field)()->set_end(range->second);
    return absl::OkStatus();
  };
  Add(app, name, description, read)->type_name("BEGIN:END")->group(kMapGroup);
}

void AttentionFlags::AddSparsityTo(CLI::App& app) {
  CLI::Option* top_k =
      AddCount(app, "--top-k", "Only the N largest values of each row",
               [this](uint32_t value) { query_.mutable_sparsity()->set_top_k(value); });
  const auto mass = [this](absl::string_view text) {
    float value = 0;
    const bool is_share = absl::SimpleAtof(text, &value) && value > 0 && value <= 1;
    if (!is_share) return NotAboveZero(text, " and up to 1");
    query_.mutable_sparsity()->set_mass(value);
    return absl::OkStatus();
  };
  CLI::Option* share =
      Add(app, "--mass", "Only the largest that reach this share of a row's sum", mass)
          ->type_name("SHARE")
          ->excludes(top_k);
  CLI::Option* max_k =
      AddCount(app, "--max-k", "With --mass: at most N values of a row", [this](uint32_t value) {
        query_.mutable_sparsity()->set_max_k(value);
      })->needs(share);
  CLI::Option* pool = AddCount(app, "--pool", "A small picture of at most N rows and columns",
                               [this](uint32_t value) { query_.mutable_pool()->set_size(value); });
  CLI::Option* reduction =
      AddEnum<v1::AttentionReduction>(
          app, "--pool-reduction",
          "With --pool: each cell is the max (default) or mean of its part",
          [this](v1::AttentionReduction value) { query_.mutable_pool()->set_reduction(value); })
          ->needs(pool);
  for (CLI::Option* option : {top_k, share, max_k, pool, reduction}) option->group(kSizeGroup);
}

void AttentionFlags::AddEncodingTo(CLI::App& app, v1::AttentionEncoding usual) {
  query_.set_encoding(usual);
  AddEnum<v1::AttentionEncoding>(
      app, "--encoding", "How numbers travel: 4, 2 or 1 bytes each",
      [this](v1::AttentionEncoding value) { query_.set_encoding(value); })
      ->default_str(EnumName(usual))
      ->group(kSizeGroup);
}

void AttentionFlags::AddMaxBytesTo(CLI::App& app) {
  const auto max_bytes = [this](absl::string_view text) {
    uint64_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value == 0) return NotAboveZero(text, "");
    query_.set_max_bytes(value);
    return absl::OkStatus();
  };
  Add(app, "--max-bytes", "Ask for one reply of at most N bytes instead of a stream", max_bytes)
      ->type_name("N")
      ->group(kSizeGroup);
}

void AttentionFlags::AddChangesTo(CLI::App& app) {
  const auto ablate = [this](absl::string_view text) {
    absl::StatusOr<v1::HeadAblation> ablation = ParseAblation(text);
    if (!ablation.ok()) return ablation.status();
    *query_.add_ablate() = *std::move(ablation);
    return absl::OkStatus();
  };
  Add(app, "--ablate",
      "Switch a head off: 2/5 is head 5 of layer 2, 2 all of layer 2; =uniform spreads its "
      "weights evenly instead of making them 0; repeatable",
      ablate)
      ->type_name("LAYER[/HEAD]")
      ->take_all()
      ->group(kWhatIfGroup);
  const auto mask = [this](absl::string_view text) {
    const absl::StatusOr<std::vector<uint32_t>> tokens = ParseNumbers(text);
    if (!tokens.ok()) return tokens.status();
    for (const uint32_t token : *tokens) query_.add_mask_tokens(token);
    return absl::OkStatus();
  };
  Add(app, "--mask-tokens", "Put the mask token in place of these, e.g. 3,4", mask)
      ->type_name("LIST")
      ->take_all()
      ->group(kWhatIfGroup);
  AddMaskTo(app);
}

void AttentionFlags::AddMaskTo(CLI::App& app) {
  CLI::Option* causal =
      app.add_flag_callback(
             "--causal", [this] { query_.mutable_mask()->mutable_causal(); },
             "Tokens look only at themselves and those before, as in a language model")
          ->group(kWhatIfGroup);
  const auto window = [this](absl::string_view text) {
    const auto sides = ParseWindow(text);
    if (!sides.ok()) return sides.status();
    v1::AttentionMask::Window& mask = *query_.mutable_mask()->mutable_window();
    mask.set_left(sides->first);
    mask.set_right(sides->second);
    return absl::OkStatus();
  };
  Add(app, "--window", "Tokens look only at so many before and after them", window)
      ->type_name("LEFT:RIGHT")
      ->excludes(causal)
      ->group(kWhatIfGroup);
}

void AttentionFlags::AddErasureTo(CLI::App& app) {
  AddEnum<v1::TokenErasure>(app, "--erasure",
                            "How far the embedding moves without each token, removed or masked",
                            [this](v1::TokenErasure value) { query_.set_erasure(value); })
      ->group(kWhatIfGroup);
}

void AttentionFlags::AddAnswersTo(CLI::App& app) {
  AddSwitch(app, "--statistics", "Statistics of each chosen head, as `attune heads` shows them",
            &v1::AttentionQuery::set_statistics)
      ->group(kAnswersGroup);
  AddSwitch(app, "--mixing-ratio",
            "Of each token, the share of a layer's attention that comes from others",
            &v1::AttentionQuery::set_mixing_ratio)
      ->group(kAnswersGroup);
  AddSwitch(app, "--want-embedding", "The text's vector as well",
            &v1::AttentionQuery::set_want_embedding)
      ->group(kAnswersGroup);
}

void AttentionFlags::RequireTexts() const {
  const size_t wanted = pair_ ? 2 : 1;
  if (texts_.size() == wanted) {
    if (!token_ids_) return;
    const absl::StatusOr<TokenIdList> ids = ParseTokenIds(texts_[0]);
    if (!ids.ok()) throw CLI::ValidationError("--token-ids", std::string(ids.status().message()));
    return;
  }
  throw CLI::ValidationError(
      pair_ ? absl::StrCat("--pair takes two texts; ", texts_.size(), " given")
            : absl::StrCat(texts_.size(), " texts given; --pair lets the model read two together"));
}

v1::AttentionQuery AttentionFlags::Query() const {
  v1::AttentionQuery query = query_;
  if (pair_) {
    query.mutable_text_pair()->set_first(texts_[0]);
    query.mutable_text_pair()->set_second(texts_[1]);
  } else if (token_ids_) {
    const TokenIdList ids = *ParseTokenIds(texts_[0]);  // RequireTexts has read them as well
    query.mutable_token_ids()->mutable_values()->Add(ids.begin(), ids.end());
  } else {
    query.set_text(texts_[0]);
  }
  truncation_.SetOn(query);
  return query;
}

}  // namespace attune::cli
