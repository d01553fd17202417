// The engine in process: token ids to token vectors, and to text vectors. Prints a table, or JSON
// lines; or takes commands, so that another program can interleave it with something else.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "engine/base/json.h"
#include "engine/ops/precision.h"
#include "tests/bench/bench_commands.h"
#include "tests/bench/encoder_runner.h"
#include "tests/bench/workload.h"

namespace attune::bench {
namespace {

constexpr char kDescription[] =
    "Measures the engine in process: token ids in, token vectors (\"tokens\") or text vectors\n"
    "(\"pooled\") out, packed into forwards of 256 tokens as the server does.\n"
    "\n"
    "  taskset -c 1 engine_bench --model ~/.cache/attune/all-MiniLM-L6-v2\n"
    "  engine_bench --threads 2 --shape base --json\n"
    "  echo '{\"run\": \"uniform\", \"seq\": 128, \"passes\": 3}' | engine_bench --serve\n"
    "\n"
    "MFU: useful operations (real tokens, attention included) as a share of what the threads "
    "reach\n"
    "in registers, in the same run, with this precision's instruction (bf16: or f32's, if faster).";

struct Flags {
  RunnerOptions runner;
  std::string precision = "f32";
  std::string kernels = "auto";
  std::string workload;
  double seconds = 1;
  bool json = false;
  bool serve = false;
};

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(rank + 0.5)];
}

// One thing to measure.
struct Row {
  std::string name;
  Json command;
};

std::vector<Row> RowsOf(const Workload& workload) {
  std::vector<Row> rows;
  for (const char* output : {"tokens", "pooled"}) {
    for (const char* run : {"uniform", "alone"}) {
      for (const auto& [seq, texts] : workload.uniform) {
        rows.push_back(
            {absl::StrFormat("%s %d", run, seq), {{"run", run}, {"seq", seq}, {"output", output}}});
      }
    }
    rows.push_back({"mixed, first 256", {{"run", "mixed"}, {"texts", 256}, {"output", output}}});
    rows.push_back({"mixed, all", {{"run", "mixed"}, {"output", output}}});
    rows.push_back(
        {"mixed, all, sorted", {{"run", "mixed"}, {"sorted", true}, {"output", output}}});
  }
  return rows;
}

void PrintRow(const Row& row, const Json& answer, std::optional<double> peak_gops) {
  const auto seconds = answer["seconds"].get<std::vector<double>>();
  const double median = Quantile(seconds, 0.5);
  const double gflops = answer["flops"].get<double>() / median / 1e9;
  const std::string mfu = peak_gops ? absl::StrFormat("%.3f", gflops / *peak_gops) : "-";
  std::printf("%-18s %-6s %9.1f %9.0f %8.1f %6s %9.3f %9.3f\n", row.name.c_str(),
              row.command["output"].get<std::string>().c_str(),
              answer["texts"].get<double>() / median, answer["tokens"].get<double>() / median,
              gflops, mfu.c_str(), median * 1e3, Quantile(seconds, 0.99) * 1e3);
}

// nullopt without such an instruction. Where the bf16 instruction runs at half rate, widening to
// f32 and multiplying there is faster, so that the higher of the two is the limit.
std::optional<double> PeakOf(const Json& peaks, const std::string& precision) {
  if (peaks[precision].is_null()) return std::nullopt;
  const double own = peaks[precision].get<double>();
  return precision == "bf16" ? std::max(own, peaks["f32"].get<double>()) : own;
}

absl::Status PrintAllRows(const Flags& flags, const Workload& workload, BenchCommands& commands) {
  absl::StatusOr<Json> info = commands.Execute({{"run", "info"}});
  if (!info.ok()) return info.status();
  absl::StatusOr<Json> peaks = commands.Execute({{"run", "peak"}});
  if (!peaks.ok()) return peaks.status();
  const std::optional<double> peak = PeakOf(*peaks, flags.precision);
  if (flags.json) {
    (*info)["peak_gops"] = *peaks;
    std::puts(DumpJson(*info).c_str());
  } else {
    std::printf("%s\npeak in registers, G op/s: %s\n\n", DumpJson(*info).c_str(),
                DumpJson(*peaks).c_str());
    std::printf("%-18s %-6s %9s %9s %8s %6s %9s %9s\n", "texts", "output", "texts/s", "tokens/s",
                "GFLOP/s", "MFU", "ms", "p99 ms");
  }
  for (const Row& row : RowsOf(workload)) {
    Json command = row.command;
    command["seconds"] = flags.seconds;
    absl::StatusOr<Json> answer = commands.Execute(command);
    if (!answer.ok()) return answer.status();
    if (flags.json) {
      answer->update(row.command);
      std::puts(DumpJson(*answer).c_str());
    } else {
      PrintRow(row, *answer, peak);
    }
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

// One command a line on standard input, one answer a line; {"error": ...} to a wrong one.
absl::Status Serve(BenchCommands& commands) {
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<Json> command = ParseJson(line);
    const absl::StatusOr<Json> answer =
        command.ok() ? commands.Execute(*command) : absl::StatusOr<Json>(command.status());
    const Json error = {{"error", std::string(answer.status().message())}};
    std::puts(DumpJson(answer.ok() ? *answer : error).c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status Run(Flags flags) {
  const absl::StatusOr<Precision> precision = ParsePrecision(flags.precision);
  if (!precision.ok()) return precision.status();
  flags.runner.linear.precision = *precision;
  const absl::StatusOr<LinearKernels> kernels = ParseLinearKernels(flags.kernels);
  if (!kernels.ok()) return kernels.status();
  flags.runner.linear.kernels = *kernels;
  const auto runner = EncoderRunner::Create(flags.runner);
  if (!runner.ok()) return runner.status();
  const absl::StatusOr<Workload> workload =
      flags.workload.empty() ? MakeWorkload((*runner)->config()) : ReadWorkload(flags.workload);
  if (!workload.ok()) return workload.status();
  BenchCommands commands(**runner, *workload);
  return flags.serve ? Serve(commands) : PrintAllRows(flags, *workload, commands);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kDescription, "engine_bench");
  auto* model =
      app.add_option("--model", flags.runner.model, "Model folder; without: random weights")
          ->type_name("FOLDER");
  app.add_option("--shape", flags.runner.shape, "Of the random weights")
      ->check(CLI::IsMember({"minilm", "base", "tiny"}))
      ->excludes(model)
      ->capture_default_str();
  app.add_option("--precision", flags.precision, "Of the matrix products: f32, bf16 or int8")
      ->capture_default_str();
  app.add_option("--kernels", flags.kernels, "Of the linear layers: auto, onednn or native")
      ->capture_default_str();
  app.add_option("--threads", flags.runner.threads, "Each pinned to a processor of its own")
      ->capture_default_str();
  app.add_option("--workload", flags.workload,
                 "Token ids as peers/workload.py writes them; without: arbitrary ones")
      ->type_name("FILE");
  app.add_option("--seconds", flags.seconds, "How long to measure each row, at least")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "JSON lines instead of a table");
  app.add_flag("--serve", flags.serve,
               "Execute commands from standard input, see bench_commands.h");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = Run(std::move(flags));
  if (status.ok()) return 0;
  std::fprintf(stderr, "engine_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace attune::bench

int main(int argc, char** argv) { return attune::bench::Main(argc, argv); }
