// The texts a benchmark runs, as token ids, and how forward passes take them.
#ifndef ATTUNE_TESTS_BENCH_WORKLOAD_H_
#define ATTUNE_TESTS_BENCH_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/model/batch.h"
#include "engine/model/config.h"

namespace attune::bench {

using TokenIds = std::vector<int32_t>;

struct Workload {
  std::map<int64_t, std::vector<TokenIds>> uniform;  // by length, in tokens
  std::vector<TokenIds> mixed;                       // of many lengths, as they arrive
  std::vector<TokenIds> accuracy;                    // whose vectors are compared
};

// Reads the file that peers/workload.py writes. Errors name the file and the field.
absl::StatusOr<Workload> ReadWorkload(const std::string& path);

// For a run without such a file: arbitrary ids, and lengths of the same distribution: 32 texts each
// of 16, 128 and 512 tokens, 1,024 of mixed and 64 of accuracy texts, all shortened to
// config.max_positions. The same at every call.
Workload MakeWorkload(const ModelConfig& config);

// Texts in the order of a list, packed into forward passes as the server packs its queue: in order
// of arrival, until the next text would pass `max_batch_tokens`; a longer text goes alone.
struct Pass {
  struct Forward {
    Batch batch;
    int64_t first_row = 0;   // of the batch's tokens among all the pass's
    int64_t first_text = 0;  // of the batch's texts among all the pass's
  };
  std::vector<Forward> forwards;
  int64_t texts = 0;
  int64_t tokens = 0;
  double flops = 0;  // useful ones, see UsefulFlops
};

Pass MakePass(const ModelConfig& config, absl::Span<const TokenIds> texts,
              int64_t max_batch_tokens);

// Operations that a text of `seq` tokens needs, 2 per multiply-add: the linear layers and, for each
// pair of tokens, scores and weighted values. layers * seq * (8 h^2 + 4 h ffn + 4 seq h).
double UsefulFlops(const ModelConfig& config, int64_t seq);

}  // namespace attune::bench

#endif  // ATTUNE_TESTS_BENCH_WORKLOAD_H_
