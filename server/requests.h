// Requests and replies as the server thinks of them, whatever transport they came by.
// Text, ids and values of a request are borrowed from its message until the request is answered.
#ifndef ATTUNE_SERVER_REQUESTS_H_
#define ATTUNE_SERVER_REQUESTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/engine.h"
#include "server/precision_choice.h"

namespace attune {

enum class TruncationPolicy { kError, kRight, kLeft };

struct TokenizePolicy {
  TruncationPolicy truncation = TruncationPolicy::kError;
  // Tokens per text, specials included; absent: the server's limit.
  std::optional<int64_t> max_tokens;
  bool specials_as_text = false;
};

// Two texts that the model reads together.
struct TextPair {
  absl::string_view first;
  absl::string_view second;
};

struct EncodeInput {
  // Which of the lists is the input.
  enum class Kind { kTexts, kTextPairs, kTokenIds, kVectors };
  Kind kind = Kind::kTexts;
  std::vector<absl::string_view> texts;
  std::vector<TextPair> text_pairs;
  std::vector<absl::Span<const uint32_t>> token_ids;
  std::vector<ConstMatrixView> vectors;  // [seq, hidden] each
  TokenizePolicy policy;
  AttentionWindow window;  // what tokens may attend to

  // Absent: the model's own pooling. kNone: token vectors.
  enum class PoolingChoice { kModel, kMode, kNone };
  PoolingChoice pooling = PoolingChoice::kModel;
  PoolingMode mode = PoolingMode::kMean;  // of kMode
  std::optional<bool> normalize;
  std::optional<int64_t> expected_dimension;
};

struct TextVector {
  std::vector<float> values;  // [dimension], or [tokens, dimension] of token vectors
  int64_t tokens = 0;
  bool truncated = false;
};

struct EncodeReply {
  std::vector<TextVector> vectors;
  int64_t dimension = 0;
};

// Heads of a layer, as the caller numbers them; no head is all of them.
struct AblatedHeads {
  int64_t layer = 0;
  std::optional<int64_t> head;
  AblationMode mode = AblationMode::kZero;
};

// What is done to each token in turn.
enum class TokenErasure { kNone, kRemove, kMask };

struct AttentionInput {
  absl::string_view text;
  // The second text of a pair; absent when there is one text.
  std::optional<absl::string_view> second_text;
  // In place of any text; at most one of them.
  std::optional<absl::Span<const uint32_t>> token_ids;
  std::optional<ConstMatrixView> vectors;  // [seq, hidden]
  TokenizePolicy policy;
  // As the caller gave them: nothing is all, negative numbers count from the end.
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  std::vector<IndexRange> layer_ranges;
  std::vector<IndexRange> head_ranges;
  MapQuery map;                 // its layers, heads and pooled_queries once the model is known
  bool pooled_queries = false;  // as the model pools
  std::vector<TextRange> spans;
  std::vector<AblatedHeads> ablate;
  std::vector<int64_t> mask_tokens;
  AttentionWindow window;  // what tokens may attend to
  TokenErasure erasure = TokenErasure::kNone;
  std::optional<int64_t> max_bytes;
  bool want_embedding = false;
  int64_t echo_bytes = 0;  // an upper bound of what repeating the query in the reply takes

  // Of the model, once it is known.
  std::optional<HeadAblation> ablation;

  bool has_text() const { return !token_ids.has_value() && !vectors.has_value(); }
  // Whether the model does something else than it does for Encode.
  bool changes_the_pass() const {
    return !ablate.empty() || !mask_tokens.empty() || !window.is_all();
  }
};

struct EmbeddingMovement {
  double cosine_distance = 0;
  double l2_distance = 0;
  std::vector<float> baseline;
};

struct AttentionReply {
  absl::string_view text;
  absl::string_view second_text;  // empty if there is none
  Encoding encoding;
  bool has_tokens = true;  // false for vectors: the encoding's ids mean nothing then
  MapPlan plan;
  MapResult result;
  std::string input_sha256;
  std::vector<float> embedding;               // empty unless wanted
  std::optional<EmbeddingMovement> movement;  // where the pass was changed
  std::vector<float> erasure;                 // [seq], or empty
};

struct SimilarityInput {
  absl::string_view first;
  absl::string_view second;
  TokenizePolicy policy;
};

struct SimilarityReply {
  Encoding first;
  Encoding second;
  SimilarityExplanation explanation;
};

struct TokenizeInput {
  std::vector<absl::string_view> texts;
  TokenizePolicy policy;
  bool add_special_tokens = true;
};

struct TokenizeReply {
  std::vector<Encoding> texts;
};

// What the server tells about itself.
struct ModelInfo {
  std::string name;
  std::string revision;
  ModelConfig config;
  int64_t max_tokens = 0;          // that this server takes
  int64_t trained_max_tokens = 0;  // the folder's own limit
  int64_t dimension = 0;
  std::vector<PoolingMode> pooling;
  bool normalize = false;
  PrecisionChoice precision;
  std::string kernels;
  std::string isa;
  std::string onednn_version;
  std::string server_version;
  int64_t max_message_bytes = 0;
  int64_t max_texts = 0;
  int64_t max_text_bytes = 0;
  int64_t max_attention_reply_bytes = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_REQUESTS_H_
