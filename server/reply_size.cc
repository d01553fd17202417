#include "server/reply_size.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace attune {
namespace {

// Upper bounds of what a serialized reply holds besides its numbers: field tags, lengths, counts.
constexpr int64_t kFramingBytes = 1024;
constexpr int64_t kFramingBytesPerVector = 22;
constexpr int64_t kFramingBytesPerToken = 64;
// And a lower bound of what a token takes in a reply.
constexpr int64_t kLeastBytesPerToken = 16;

int64_t TokenTableBytes(const Encoding& encoding, const Tokenizer& tokenizer) {
  int64_t bytes = 0;
  for (const int32_t id : encoding.ids) {
    bytes += static_cast<int64_t>(tokenizer.TokenText(id).size()) + kFramingBytesPerToken;
  }
  return bytes;
}

// A word's text is its part of the text, or its special token's.
int64_t WordTableBytes(const AttentionReply& reply, const Tokenizer& tokenizer) {
  int64_t bytes = 0;
  for (const MapRange& word : reply.plan.text.words) {
    const auto first = static_cast<size_t>(word.begin);
    const auto last = static_cast<size_t>(word.end - 1);
    const auto token_text = tokenizer.TokenText(reply.encoding.ids[first]);
    bytes += kFramingBytesPerToken + static_cast<int64_t>(token_text.size()) +
             reply.encoding.byte_ranges[last].end - reply.encoding.byte_ranges[first].begin;
  }
  return bytes;
}

}  // namespace

int64_t EncodeReplyBytes(const std::vector<Encoding>& encodings, const VectorPlan& plan,
                         int64_t hidden) {
  const int64_t dimension = plan.dimension(hidden);
  int64_t bytes = kFramingBytes;
  for (const Encoding& encoding : encodings) {
    const int64_t rows = plan.pooling.has_value() ? 1 : encoding.size();
    bytes += rows * dimension * int64_t{sizeof(float)} + kFramingBytesPerVector;
  }
  return bytes;
}

int64_t AttentionReplyBytes(const AttentionInput& input, const AttentionReply& reply,
                            const Tokenizer& tokenizer, int64_t dimension) {
  const auto values = [](int64_t count) { return count * int64_t{sizeof(float)}; };
  int64_t table = kFramingBytes + input.echo_bytes;
  if (reply.has_tokens) table += TokenTableBytes(reply.encoding, tokenizer);
  if (input.want_embedding) table += values(dimension * (input.changes_the_pass() ? 2 : 1));
  if (input.erasure != TokenErasure::kNone) table += values(reply.encoding.size());
  if (input.map.level == MapLevel::kWord) table += WordTableBytes(reply, tokenizer);
  int64_t total = 0;
  if (__builtin_add_overflow(reply.plan.ResultBytes(), table, &total)) {
    return std::numeric_limits<int64_t>::max();
  }
  return total;
}

int64_t SimilarityReplyBytes(const SimilarityReply& reply, const Tokenizer& tokenizer) {
  return kFramingBytes + TokenTableBytes(reply.first, tokenizer) +
         TokenTableBytes(reply.second, tokenizer) +
         reply.first.size() * reply.second.size() * int64_t{sizeof(float)};
}

int64_t TokenizeReplyBytes(const std::vector<Encoding>& encodings, const Tokenizer& tokenizer) {
  int64_t bytes = kFramingBytes;
  for (const Encoding& encoding : encodings) bytes += TokenTableBytes(encoding, tokenizer);
  return bytes;
}

int64_t AttendReplyBytes(const AttendInput& input) {
  return kFramingBytes + AttendResultBytes(input);
}

int64_t MostTokensOfAReply(int64_t max_message_bytes) {
  return max_message_bytes / kLeastBytesPerToken;
}

absl::Status CheckReplyBytes(int64_t bytes, int64_t max_message_bytes) {
  if (bytes <= max_message_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the reply would have up to ", bytes,
                                                 " bytes; the limit is ", max_message_bytes,
                                                 "; send less in one request"));
}

}  // namespace attune
