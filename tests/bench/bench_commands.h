// What a benchmark can be asked to measure, as JSON in and JSON out, so that a table, a file and
// another program that takes turns with this one all use the same code.
#ifndef ATTUNE_TESTS_BENCH_BENCH_COMMANDS_H_
#define ATTUNE_TESTS_BENCH_BENCH_COMMANDS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/json.h"
#include "tests/bench/encoder_runner.h"
#include "tests/bench/workload.h"

namespace attune::bench {

// The commands, by "run":
//   "uniform"  the texts of "seq" tokens, packed
//   "alone"    the same one by one: a pass is one text, the next pass the next text
//   "mixed"    the first "texts" mixed texts (0: all), packed in order of arrival, or of length if
//              "sorted"
// each with "output": "tokens" (default) or "pooled". "warm" passes (default 1) run unmeasured,
// then at least "passes" (default 1) and for at least "seconds" (default 0). The answer has
// "seconds" (of each pass), "texts", "tokens" and "flops" (useful ones, of one pass).
//   "vectors"  {"vectors": pooled vectors of the accuracy texts}, in the order of the indices
//              "order", each text by itself if "alone"
//   "peak"     {"f32", "bf16", "int8"}: PeakGops of all threads, null without such an instruction
//   "info"     what this is: engine, precision, threads, versions, shape
// Thread-compatible.
class BenchCommands {
 public:
  // Both are borrowed and outlive this.
  BenchCommands(EncoderRunner& runner, const Workload& workload)
      : runner_(runner), workload_(workload) {}

  // kInvalidArgument naming the field that is wrong.
  absl::StatusOr<Json> Execute(const Json& command);

 private:
  // Passes to run in turn, and room for the largest result.
  struct Prepared {
    std::vector<Pass> passes;
    Output output = Output::kTokenVectors;
    Matrix result;
  };

  absl::StatusOr<Json> Measure(const Json& command);
  absl::StatusOr<Prepared> Prepare(const Json& command) const;
  absl::StatusOr<std::vector<Pass>> MakePasses(const Json& command) const;
  absl::StatusOr<Json> Vectors(const Json& command);
  Json Peak();
  Json Info() const;

  EncoderRunner& runner_;
  const Workload& workload_;
  std::map<std::string, Prepared> prepared_;  // by what the command asks to run
};

}  // namespace attune::bench

#endif  // ATTUNE_TESTS_BENCH_BENCH_COMMANDS_H_
