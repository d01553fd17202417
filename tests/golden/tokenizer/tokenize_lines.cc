// Runs our tokenizer for scripts: reads requests from stdin, one JSON object a line, and writes one
// JSON object a line. The only argument is a tokenizer.json.
//   {"text": "...", "pair": "...", "max_tokens": 0, "left": false, "add_special_tokens": true,
//    "specials_as_text": false}
//   -> {"ids": [...], "types": [...], "bytes": [[b, e], ...], "chars": [[b, e], ...],
//       "words": [...], "special": [...], "truncated": false} or {"error": "..."}
// With {"vocab": true} the answer is {"tokens": {"<id>": "<text>"}} of the whole vocabulary.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/text/tokenizer.h"

namespace attune {
namespace {

Json RangesJson(const std::vector<TextRange>& ranges) {
  Json out = Json::array();
  for (const TextRange& range : ranges) out.push_back({range.begin, range.end});
  return out;
}

Json VocabJson(const Tokenizer& tokenizer) {
  Json tokens = Json::object();
  for (int32_t id = 0; id < tokenizer.id_limit(); ++id) {
    tokens[std::to_string(id)] = std::string(tokenizer.TokenText(id));
  }
  return {{"tokens", std::move(tokens)}, {"vocab_size", tokenizer.vocab_size()}};
}

// Runs one request, and checks on the way that asking for offsets does not change the tokens.
Json Answer(const Tokenizer& tokenizer, const Json& request) {
  if (request.value("vocab", false)) return VocabJson(tokenizer);
  TokenizeOptions options;
  options.max_tokens = request.value("max_tokens", int64_t{0});
  options.truncation_side =
      request.value("left", false) ? TruncationSide::kLeft : TruncationSide::kRight;
  options.add_special_tokens = request.value("add_special_tokens", true);
  options.specials_as_text = request.value("specials_as_text", false);
  const auto encode = [&](bool offsets) {
    options.offsets = offsets;
    const std::string text = request["text"];
    if (!request.contains("pair") || request["pair"].is_null()) {
      return tokenizer.Encode(text, options);
    }
    return tokenizer.EncodePair(text, request["pair"].get<std::string>(), options);
  };
  const absl::StatusOr<Encoding> plain = encode(false);
  const absl::StatusOr<Encoding> full = encode(true);
  if (!full.ok()) return {{"error", std::string(full.status().message())}};
  if (!plain.ok() || plain->ids != full->ids || plain->type_ids != full->type_ids ||
      plain->truncated != full->truncated) {
    return {{"error", "tokens differ with and without offsets"}};
  }
  return {{"ids", full->ids},
          {"types", full->type_ids},
          {"bytes", RangesJson(full->byte_ranges)},
          {"chars", RangesJson(full->code_point_ranges)},
          {"words", full->word_ids},
          {"special", full->special},
          {"truncated", full->truncated}};
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s TOKENIZER_JSON\n", argv[0]);
    return 2;
  }
  constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
  absl::StatusOr<std::string> json = ReadFile(argv[1], kMaxFileBytes);
  if (!json.ok()) {
    std::fprintf(stderr, "%s\n", json.status().ToString().c_str());
    return 1;
  }
  TokenizerFiles files;
  files.tokenizer_json = *std::move(json);
  const absl::StatusOr<std::unique_ptr<const Tokenizer>> tokenizer = Tokenizer::Create(files);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], tokenizer.status().ToString().c_str());
    return 1;
  }
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<Json> request = ParseJson(line);
    if (!request.ok()) {
      std::fprintf(stderr, "%s\n", request.status().ToString().c_str());
      return 1;
    }
    std::cout << DumpJson(Answer(**tokenizer, *request)) << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) { return attune::Main(argc, argv); }
