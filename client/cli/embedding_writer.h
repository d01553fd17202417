// The results of `encode`, in each of its formats.
#ifndef ATTUNE_CLIENT_CLI_EMBEDDING_WRITER_H_
#define ATTUNE_CLIENT_CLI_EMBEDDING_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/output_file.h"
#include "client/client.h"

namespace attune::cli {

// Takes results one by one, in order. Thread-compatible.
class EmbeddingWriter {
 public:
  virtual ~EmbeddingWriter() = default;
  virtual absl::Status Write(const EncodedItem& item) = 0;
  // After the last result. The writer is of no more use.
  virtual absl::Status Finish() = 0;
};

// `out` is borrowed by each.

// {"text", "text" and "text_pair", or "token_ids"; "tokens", "embedding"} a line, and "truncated"
// and "beyond_trained_length" where true. With `per_token` the embedding is one array per token.
std::unique_ptr<EmbeddingWriter> MakeJsonLinesWriter(OutputFile& out, bool per_token);
// Text, number of tokens, the first values and the length of each vector.
std::unique_ptr<EmbeddingWriter> MakeTableWriter(OutputFile& out);
// float32 [texts, dimension].
absl::StatusOr<std::unique_ptr<EmbeddingWriter>> MakeNpyWriter(OutputFile& out);
// The cosine of every pair, once all are there; at most kMaxSimilarityTexts.
inline constexpr size_t kMaxSimilarityTexts = 100;
std::unique_ptr<EmbeddingWriter> MakeSimilarityWriter(OutputFile& out);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_EMBEDDING_WRITER_H_
