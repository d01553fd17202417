#include <array>
#include <utility>

#include "server/codec/attention_codec.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

v1::AttentionMatrix EncodeMatrix(MapMatrix matrix) {
  switch (matrix) {
    case MapMatrix::kWeights:
      return v1::ATTENTION_MATRIX_WEIGHTS;
    case MapMatrix::kRawScores:
      return v1::ATTENTION_MATRIX_RAW_SCORES;
    case MapMatrix::kValueNorm:
      return v1::ATTENTION_MATRIX_VALUE_NORM;
    case MapMatrix::kAttnNorm:
      return v1::ATTENTION_MATRIX_ATTN_NORM;
    case MapMatrix::kResNorm:
      return v1::ATTENTION_MATRIX_RES_NORM;
    case MapMatrix::kResLnNorm:
      return v1::ATTENTION_MATRIX_RES_LN_NORM;
    case MapMatrix::kRollout:
      return v1::ATTENTION_MATRIX_ROLLOUT;
    case MapMatrix::kFlow:
      return v1::ATTENTION_MATRIX_FLOW;
    case MapMatrix::kValueZeroing:
      return v1::ATTENTION_MATRIX_VALUE_ZEROING;
    case MapMatrix::kHiddenSimilarity:
      return v1::ATTENTION_MATRIX_HIDDEN_SIMILARITY;
    case MapMatrix::kNone:
      break;
  }
  return v1::ATTENTION_MATRIX_NONE;
}

v1::AttentionEncoding EncodeEncoding(MapEncoding encoding) {
  switch (encoding) {
    case MapEncoding::kF32:
      return v1::ATTENTION_ENCODING_F32;
    case MapEncoding::kF16:
      return v1::ATTENTION_ENCODING_F16;
    case MapEncoding::kU8:
      break;
  }
  return v1::ATTENTION_ENCODING_U8;
}

v1::HeadLabel EncodeLabel(HeadLabel label) {
  switch (label) {
    case HeadLabel::kNone:
      break;
    case HeadLabel::kNext:
      return v1::HEAD_LABEL_NEXT;
    case HeadLabel::kPrevious:
      return v1::HEAD_LABEL_PREVIOUS;
    case HeadLabel::kBroad:
      return v1::HEAD_LABEL_BROAD;
    case HeadLabel::kCls:
      return v1::HEAD_LABEL_CLS;
    case HeadLabel::kSeparator:
      return v1::HEAD_LABEL_SEPARATOR;
    case HeadLabel::kPunctuation:
      return v1::HEAD_LABEL_PUNCTUATION;
  }
  return v1::HEAD_LABEL_UNSPECIFIED;
}

void EncodeSummary(const LayerHeadSummary& located, v1::HeadSummary& message) {
  const HeadSummary& summary = located.summary;
  message.set_layer(static_cast<uint32_t>(located.layer));
  message.set_head(static_cast<uint32_t>(located.head));
  message.set_self_mass(static_cast<float>(summary.self_mass));
  message.set_previous_mass(static_cast<float>(summary.previous_mass));
  message.set_next_mass(static_cast<float>(summary.next_mass));
  message.set_first_mass(static_cast<float>(summary.first_mass));
  message.set_cls_mass(static_cast<float>(summary.cls_mass));
  message.set_separator_mass(static_cast<float>(summary.separator_mass));
  message.set_punctuation_mass(static_cast<float>(summary.punctuation_mass));
  message.set_separator_to_separator(static_cast<float>(summary.separator_to_separator));
  message.set_rest_to_separator(static_cast<float>(summary.rest_to_separator));
  message.set_entropy(static_cast<float>(summary.entropy));
  message.set_entropy_normalized(static_cast<float>(summary.entropy_normalized));
  message.set_support(static_cast<float>(summary.support));
  message.set_first_entropy(static_cast<float>(summary.first_entropy));
  message.set_distance(static_cast<float>(summary.distance));
  message.set_offset(static_cast<float>(summary.offset));
  message.set_confidence(static_cast<float>(summary.confidence));
  message.set_previous_share(static_cast<float>(summary.previous_share));
  message.set_next_share(static_cast<float>(summary.next_share));
  message.set_locality(static_cast<float>(summary.locality));
  message.set_symmetry(static_cast<float>(summary.symmetry));
  message.set_label(EncodeLabel(summary.label()));
  message.set_broad(summary.broad());
  message.set_focused(summary.focused());
}

void EncodeWords(const AttentionReply& reply, const Tokenizer& tokenizer,
                 google::protobuf::RepeatedPtrField<v1::Word>& words) {
  for (const MapRange& tokens : reply.plan.text.words) {
    const auto first = static_cast<size_t>(tokens.begin);
    const int64_t begin = reply.encoding.byte_ranges[first].begin;
    const int64_t end = reply.encoding.byte_ranges[static_cast<size_t>(tokens.end - 1)].end;
    const bool special = reply.encoding.special[first];
    const bool second = tokens.begin >= reply.plan.text.second_begin;
    const absl::string_view text = second ? reply.second_text : reply.text;
    v1::Word& word = *words.Add();
    word.set_text(std::string(
        special ? tokenizer.TokenText(reply.encoding.ids[first])
                : text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
    word.set_token_begin(static_cast<uint32_t>(tokens.begin));
    word.set_token_end(static_cast<uint32_t>(tokens.end));
    word.set_byte_begin(static_cast<uint32_t>(begin));
    word.set_byte_end(static_cast<uint32_t>(end));
    word.set_special(special);
  }
}

// What `data` holds, and where its cells belong.
void EncodeLayout(const MapPlan& plan, v1::AttentionMapResponse& response) {
  for (const int64_t layer : plan.query.layers) response.add_layers(static_cast<uint32_t>(layer));
  response.set_matrix(EncodeMatrix(plan.query.matrix));
  response.set_encoding(EncodeEncoding(plan.query.encoding));
  if (plan.query.matrix == MapMatrix::kNone) return;
  if (!MergesHeads(plan.query.matrix)) {
    for (const int64_t head : plan.query.heads) response.add_heads(static_cast<uint32_t>(head));
  }
  for (const int64_t axis : plan.shape()) response.add_shape(static_cast<uint64_t>(axis));
  if (plan.query.block == MapBlock::kMass) return;  // the axes are A and B
  for (const int64_t unit : plan.queries) response.add_queries(static_cast<uint32_t>(unit));
  for (const int64_t unit : plan.keys) response.add_keys(static_cast<uint32_t>(unit));
}

void EncodeResult(MapResult result, v1::AttentionMapResponse& response) {
  response.set_data(std::move(result.maps.data));
  response.set_row_scales(std::move(result.maps.row_scales));
  response.set_kept_mass(std::move(result.maps.kept_mass));
  if (!result.maps.row_lengths.empty()) {
    response.mutable_sparse()->set_row_lengths(std::move(result.maps.row_lengths));
    response.mutable_sparse()->set_columns(std::move(result.maps.columns));
  }
  response.mutable_mixing_ratio()->assign(reinterpret_cast<const char*>(result.mixing_ratio.data()),
                                          result.mixing_ratio.size() * sizeof(float));
  for (const LayerHeadSummary& summary : result.statistics) {
    EncodeSummary(summary, *response.add_statistics());
  }
}

void EncodeMovement(const EmbeddingMovement& movement, v1::EmbeddingMovement& message) {
  message.set_cosine_distance(movement.cosine_distance);
  message.set_l2_distance(movement.l2_distance);
  message.mutable_baseline()->Add(movement.baseline.begin(), movement.baseline.end());
}

}  // namespace

void EncodeAttentionReply(AttentionReply reply, const Tokenizer& tokenizer, const ModelInfo& model,
                          v1::AttentionMapResponse& response) {
  if (reply.has_tokens) EncodeTokens(reply.encoding, tokenizer, *response.mutable_tokens());
  if (reply.plan.query.level == MapLevel::kWord) {
    EncodeWords(reply, tokenizer, *response.mutable_words());
  }
  EncodeLayout(reply.plan, response);
  EncodeResult(std::move(reply.result), response);
  response.set_truncated(reply.encoding.truncated);
  response.set_original_tokens(static_cast<uint64_t>(reply.encoding.original_tokens));
  response.set_beyond_trained_length(reply.encoding.size() > model.trained_max_tokens);
  response.mutable_embedding()->Add(reply.embedding.begin(), reply.embedding.end());
  if (reply.movement.has_value()) EncodeMovement(*reply.movement, *response.mutable_movement());
  response.mutable_erasure()->Add(reply.erasure.begin(), reply.erasure.end());
  EncodeProvenance(model, *response.mutable_provenance());
  response.mutable_provenance()->set_input_sha256(std::move(reply.input_sha256));
}

void EncodeAttentionTrailer(const AttentionReply& reply, v1::AttentionTrailer& trailer) {
  for (const LayerHeadSummary& summary : reply.result.statistics) {
    EncodeSummary(summary, *trailer.add_statistics());
  }
  const std::vector<float>& mixing = reply.result.mixing_ratio;
  if (!mixing.empty()) trailer.set_mixing_ratio(mixing.data(), mixing.size() * sizeof(float));
  trailer.mutable_embedding()->Add(reply.embedding.begin(), reply.embedding.end());
}

void EncodeHeadStatistics(const HeadAggregate& aggregate, int64_t tokens, const ModelInfo& model,
                          v1::HeadStatisticsResponse& response) {
  response.set_texts(static_cast<uint64_t>(aggregate.texts()));
  response.set_tokens(static_cast<uint64_t>(tokens));
  for (const LayerHeadSummary& head : aggregate.Mean()) {
    EncodeSummary(head, *response.add_statistics());
  }
  EncodeProvenance(model, *response.mutable_provenance());
}

void EchoAttentionQuery(const v1::AttentionQuery& query, v1::AttentionMapResponse& response) {
  v1::AttentionQuery& echo = *response.mutable_query();
  echo = query;
  echo.clear_input();
  echo.set_matrix(response.matrix());
  echo.set_encoding(response.encoding());
  *echo.mutable_layers() = {response.layers().begin(), response.layers().end()};
  echo.clear_layer_ranges();
  if (response.heads_size() > 0) {
    *echo.mutable_heads() = {response.heads().begin(), response.heads().end()};
    echo.clear_head_ranges();
  }
  const auto fill_in = [](auto value, auto zero, auto first) {
    return value == zero ? first : value;
  };
  echo.set_head_reduction(fill_in(echo.head_reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED,
                                  v1::ATTENTION_REDUCTION_NONE));
  echo.set_layer_reduction(fill_in(echo.layer_reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED,
                                   v1::ATTENTION_REDUCTION_NONE));
  echo.set_level(fill_in(echo.level(), v1::ATTENTION_LEVEL_UNSPECIFIED, v1::ATTENTION_LEVEL_TOKEN));
  echo.set_specials(
      fill_in(echo.specials(), v1::ATTENTION_SPECIALS_UNSPECIFIED, v1::ATTENTION_SPECIALS_KEEP));
  echo.set_specials_axes(
      fill_in(echo.specials_axes(), v1::ATTENTION_AXES_UNSPECIFIED, v1::ATTENTION_AXES_BOTH));
  echo.set_block(fill_in(echo.block(), v1::ATTENTION_BLOCK_UNSPECIFIED, v1::ATTENTION_BLOCK_ALL));
  echo.set_truncation(fill_in(echo.truncation(), v1::TRUNCATION_UNSPECIFIED, v1::TRUNCATION_ERROR));
  echo.set_erasure(fill_in(echo.erasure(), v1::TOKEN_ERASURE_UNSPECIFIED, v1::TOKEN_ERASURE_NONE));
}

}  // namespace attune
