#include "tests/bench/bench_commands.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/ops/op_context.h"

namespace attune::bench {
namespace {

// As the server packs its queue by default.
constexpr int64_t kMaxBatchTokens = 256;
// Every text in a forward of its own.
constexpr int64_t kAlone = 0;
constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBf16, Precision::kInt8};

// The field, or `fallback` where it is absent.
template <typename T>
absl::StatusOr<T> Field(const Json& command, const char* name, const T& fallback) {
  if (!command.contains(name)) return fallback;
  try {
    return command[name].get<T>();
  } catch (const Json::exception&) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", Shown(command[name]), ", which is of the wrong type"));
  }
}

absl::StatusOr<Output> OutputOf(const Json& command) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string output,
                          Field<std::string>(command, "output", "tokens"));
  if (output == "tokens") return Output::kTokenVectors;
  if (output == "pooled") return Output::kTextVectors;
  return absl::InvalidArgumentError(
      absl::StrCat("output is \"", output, "\"; must be tokens or pooled"));
}

// What of `command` decides the passes.
std::string KeyOf(const Json& command) {
  Json key = Json::object();
  for (const char* name : {"run", "seq", "texts", "sorted", "output"}) {
    if (command.contains(name)) key[name] = command[name];
  }
  return DumpJson(key);
}

std::vector<TokenIds> SortedByLength(std::vector<TokenIds> texts) {
  std::stable_sort(texts.begin(), texts.end(),
                   [](const TokenIds& a, const TokenIds& b) { return a.size() < b.size(); });
  return texts;
}

}  // namespace

absl::StatusOr<Json> BenchCommands::Execute(const Json& command) {
  if (!command.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a command is ", Shown(command), "; must be an object"));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string run, Field<std::string>(command, "run", ""));
  if (run == "uniform" || run == "alone" || run == "mixed") return Measure(command);
  if (run == "vectors") return Vectors(command);
  if (run == "peak") return Peak();
  if (run == "info") return Info();
  return absl::InvalidArgumentError(
      absl::StrCat("run is \"", ShortenForMessage(run),
                   "\"; must be uniform, alone, mixed, vectors, peak or info"));
}

absl::StatusOr<std::vector<Pass>> BenchCommands::MakePasses(const Json& command) const {
  const ModelConfig& config = runner_.config();
  if (command["run"] == "mixed") {
    ATTUNE_ASSIGN_OR_RETURN(const size_t count, Field<size_t>(command, "texts", 0));
    ATTUNE_ASSIGN_OR_RETURN(const bool sorted, Field(command, "sorted", false));
    std::vector<TokenIds> texts = workload_.mixed;
    if (count > 0 && count < texts.size()) texts.resize(count);
    if (sorted) texts = SortedByLength(std::move(texts));
    return std::vector<Pass>{MakePass(config, texts, kMaxBatchTokens)};
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t seq, Field<int64_t>(command, "seq", 0));
  const auto texts = workload_.uniform.find(seq);
  if (texts == workload_.uniform.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("seq is ", seq, ", and the workload has no texts of that length"));
  }
  std::vector<Pass> passes;
  if (command["run"] == "alone") {
    for (const TokenIds& ids : texts->second) passes.push_back(MakePass(config, {&ids, 1}, kAlone));
  } else {
    passes.push_back(MakePass(config, texts->second, kMaxBatchTokens));
  }
  return passes;
}

absl::StatusOr<BenchCommands::Prepared> BenchCommands::Prepare(const Json& command) const {
  Prepared prepared;
  ATTUNE_ASSIGN_OR_RETURN(prepared.passes, MakePasses(command));
  ATTUNE_ASSIGN_OR_RETURN(prepared.output, OutputOf(command));
  const auto largest =
      std::max_element(prepared.passes.begin(), prepared.passes.end(),
                       [](const Pass& a, const Pass& b) { return a.tokens < b.tokens; });
  prepared.result = runner_.MakeResult(*largest, prepared.output);
  return prepared;
}

absl::StatusOr<Json> BenchCommands::Measure(const Json& command) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t warm, Field<int64_t>(command, "warm", 1));
  ATTUNE_ASSIGN_OR_RETURN(const int64_t passes, Field<int64_t>(command, "passes", 1));
  ATTUNE_ASSIGN_OR_RETURN(const double wanted_seconds, Field<double>(command, "seconds", 0));
  const std::string key = KeyOf(command);
  if (prepared_.find(key) == prepared_.end()) {
    ATTUNE_ASSIGN_OR_RETURN(prepared_[key], Prepare(command));
  }
  Prepared& prepared = prepared_[key];
  std::vector<double> seconds;
  double sum = 0;
  for (int64_t i = 0; i < warm + passes || sum < wanted_seconds; ++i) {
    const Pass& pass = prepared.passes[static_cast<size_t>(i) % prepared.passes.size()];
    ATTUNE_ASSIGN_OR_RETURN(const double elapsed,
                            runner_.Run(pass, prepared.output, prepared.result.view()));
    if (i < warm) continue;
    seconds.push_back(elapsed);
    sum += elapsed;
  }
  const Pass& pass = prepared.passes.front();
  return Json{
      {"seconds", seconds}, {"texts", pass.texts}, {"tokens", pass.tokens}, {"flops", pass.flops}};
}

absl::StatusOr<Json> BenchCommands::Vectors(const Json& command) {
  std::vector<size_t> in_order(workload_.accuracy.size());
  std::iota(in_order.begin(), in_order.end(), size_t{0});
  ATTUNE_ASSIGN_OR_RETURN(const auto order, Field(command, "order", in_order));
  ATTUNE_ASSIGN_OR_RETURN(const bool alone, Field(command, "alone", false));
  std::vector<TokenIds> texts;
  for (const size_t index : order) {
    if (index >= workload_.accuracy.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("order has ", index, "; there are ", workload_.accuracy.size(), " texts"));
    }
    texts.push_back(workload_.accuracy[index]);
  }
  const Pass pass = MakePass(runner_.config(), texts, alone ? kAlone : kMaxBatchTokens);
  Matrix result = runner_.MakeResult(pass, Output::kTextVectors);
  ATTUNE_RETURN_IF_ERROR(runner_.Run(pass, Output::kTextVectors, result.view()).status());
  Json vectors = Json::array();
  for (int64_t i = 0; i < result.rows(); ++i) {
    vectors.push_back(std::vector<double>(result.row(i).begin(), result.row(i).end()));
  }
  return Json{{"vectors", std::move(vectors)}};
}

Json BenchCommands::Peak() {
  Json peaks = Json::object();
  for (const Precision precision : kPrecisions) {
    const std::optional<double> gops = runner_.PeakGops(precision);
    peaks[std::string(PrecisionName(precision))] = gops ? Json(*gops) : Json();
  }
  return peaks;
}

Json BenchCommands::Info() const {
  const ModelConfig& config = runner_.config();
  const RunnerOptions& options = runner_.options();
  return Json{{"engine", "attune"},
              {"precision", std::string(PrecisionName(options.linear.precision))},
              {"threads", options.threads},
              {"weights", options.model.empty() ? "random, " + options.shape : options.model},
              {"versions", {{"oneDNN", OneDnnVersion()}}},
              {"isa", EffectiveIsa()},
              {"kernels", runner_.kernel_name()},
              {"shape",
               {{"layers", config.layers},
                {"hidden", config.hidden},
                {"heads", config.heads},
                {"ffn", config.ffn}}}};
}

}  // namespace attune::bench
