#include "client/cli/html_page.h"

#include <google/protobuf/util/json_util.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/attention_values.h"
#include "client/cli/bertviz_json.h"
#include "client/cli/enum_names.h"
#include "client/cli/map_names.h"
#include "client/cli/page_template.h"

namespace attune::cli {
namespace {

constexpr double kMiB = 1 << 20;

// `at_least`: nothing more was counted.
absl::Status TooLarge(size_t bytes, bool at_least) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "the page would have %s%.1f MiB, and is at most %.0f MiB: browsers take long to open more. "
      "Choose layers (--layer -1) or heads (--head 0), numbers of one byte (--encoding u8), or no "
      "data for BertViz (--no-bertviz); `attune attention --json` has no limit",
      at_least ? "more than " : "", static_cast<double>(bytes) / kMiB,
      static_cast<double>(kMaxHtmlPageBytes) / kMiB));
}

// Inside a script element JSON must hold nothing that ends it, and no line separator of JavaScript.
// In JSON these are only ever in strings, where they may be escaped.
std::string EmbedJson(absl::string_view json) {
  return absl::StrReplaceAll(
      json, {{"<", "\\u003c"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}});
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  if (google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return json;
  return absl::InternalError("the server's reply has no JSON form");
}

// The call and its reply, as the dashboard saves them: the request can be sent again as it is.
absl::StatusOr<std::string> ExchangeJson(const v1::AttentionQuery& query,
                                         const v1::AttentionMapResponse& map) {
  v1::AttentionMapRequest request;
  *request.mutable_query() = query;
  const absl::StatusOr<std::string> asked = ToJson(request);
  if (!asked.ok()) return asked.status();
  const absl::StatusOr<std::string> answered = ToJson(map);
  if (!answered.ok()) return answered.status();
  return absl::StrCat("{\"request\":", *asked, ",\"response\":", *answered, "}");
}

void AppendFact(absl::string_view name, absl::string_view value, std::string& facts) {
  if (value.empty()) return;
  absl::StrAppend(&facts, "<dt>", EscapeHtml(name), "</dt><dd>", EscapeHtml(value), "</dd>");
}

std::string Facts(const v1::AttentionQuery& query, const v1::AttentionMapResponse& map) {
  const v1::Provenance& made = map.provenance();
  std::string facts;
  AppendFact("model", made.model(), facts);
  AppendFact("model revision", made.model_revision(), facts);
  AppendFact("matrix", EnumName(map.matrix()), facts);
  AppendFact("special tokens", EnumName(map.query().specials()), facts);
  for (const v1::HeadAblation& ablation : query.ablate()) {
    AppendFact("switched off",
               absl::StrCat("layer ", ablation.layer(),
                            ablation.has_head() ? absl::StrCat(" head ", ablation.head()) : "",
                            " (", EnumName(ablation.mode()), ")"),
               facts);
  }
  AppendFact("masked tokens", absl::StrJoin(query.mask_tokens(), ", "), facts);
  AppendFact("mask", query.mask().ShortDebugString(), facts);
  AppendFact("text", map.truncated() ? absl::StrCat("cut to ", map.tokens_size(), " tokens") : "",
             facts);
  AppendFact("numbers in the page", EnumName(map.encoding()), facts);
  AppendFact("computed in", made.compute_dtype(), facts);
  AppendFact("server", made.server_version(), facts);
  AppendFact("instruction set", made.isa(), facts);
  AppendFact("oneDNN", made.onednn_version(), facts);
  AppendFact("kernels", made.kernels(), facts);
  AppendFact("SHA-256 of the token ids", made.input_sha256(), facts);
  return facts;
}

std::string TextParagraph(const std::string& text) {
  return absl::StrCat("<p><bdi>", EscapeHtml(text), "</bdi></p>");
}

std::string Texts(const v1::AttentionQuery& query) {
  if (query.has_token_ids()) {
    return TextParagraph(
        absl::StrCat("token ids ", absl::StrJoin(query.token_ids().values(), " ")));
  }
  if (!query.has_text_pair()) return TextParagraph(query.text());
  return absl::StrCat(TextParagraph(query.text_pair().first()),
                      TextParagraph(query.text_pair().second()));
}

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

absl::Status CheckFitsHtmlPage(const v1::AttentionMapResponse& header) {
  double bytes = header.encoding() == v1::ATTENTION_ENCODING_F32   ? 4
                 : header.encoding() == v1::ATTENTION_ENCODING_F16 ? 2
                                                                   : 1;
  for (const uint64_t size : header.shape()) bytes *= static_cast<double>(size);
  bytes *= 4.0 / 3;  // base64
  if (bytes <= static_cast<double>(kMaxHtmlPageBytes)) return absl::OkStatus();
  return TooLarge(static_cast<size_t>(bytes), true);
}

absl::StatusOr<std::string> MakeHtmlPage(const v1::AttentionQuery& query,
                                         const v1::AttentionMapResponse& map, bool bertviz) {
  if (map.shape_size() != 4) return absl::InternalError("the server sent no map");
  const absl::StatusOr<MapNames> names = NamesOfMap(map);
  if (!names.ok()) return names.status();
  const absl::StatusOr<std::vector<float>> values = AttentionValues(map);
  if (!values.ok()) return values.status();
  const absl::StatusOr<std::string> exchange = ExchangeJson(query, map);
  if (!exchange.ok()) return exchange.status();
  std::optional<std::string> for_bertviz = "null";
  if (bertviz) for_bertviz = BertVizJson(map, *values, names->keys, kMaxHtmlPageBytes);
  if (!for_bertviz) return TooLarge(kMaxHtmlPageBytes, true);
  const std::string title =
      EscapeHtml(absl::StrCat(map.provenance().model(), ": attention of ", names->keys.size(),
                              map.words().empty() ? " tokens" : " words"));
  // In one pass: what a text looks like must not matter.
  std::string page =
      absl::StrReplaceAll(PageTemplate(), {{"{{title}}", title},
                                           {"{{text}}", Texts(query)},
                                           {"{{facts}}", Facts(query, map)},
                                           {"{{attune}}", EmbedJson(*exchange)},
                                           {"{{bertviz}}", EmbedJson(*for_bertviz)}});
  if (page.size() > kMaxHtmlPageBytes) return TooLarge(page.size(), false);
  return page;
}

}  // namespace attune::cli
