#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/input_flags.h"
#include "client/cli/json.h"
#include "client/cli/known_vectors.h"
#include "client/cli/load_generator.h"
#include "client/cli/percentile.h"
#include "client/cli/sample_texts.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

constexpr size_t kMaxInputTexts = 100'000;
constexpr int kMaxConnections = 64;
constexpr uint64_t kMaxRequests = 10'000'000;
constexpr std::pair<const char*, double> kPercentiles[] = {
    {"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"max", 100}};

double PerSecond(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json LengthClassesToJson(const LoadReport& report) {
  Json classes = Json::array();
  for (const auto& [max_tokens, latencies] : report.latencies_ms_by_tokens) {
    classes.push_back({{"max_tokens", max_tokens},
                       {"requests", latencies.size()},
                       {"p50", Percentile(latencies, 50)},
                       {"p99", Percentile(latencies, 99)}});
  }
  return classes;
}

Json LatenciesToJson(const std::vector<double>& latencies_ms) {
  Json json = Json::object();
  for (const auto& [name, percent] : kPercentiles) json[name] = Percentile(latencies_ms, percent);
  return json;
}

Json ReportToJson(const LoadReport& report, const std::string& model) {
  Json json = {{"model", model},
               {"requests", report.requests},
               {"succeeded", report.succeeded},
               {"wrong", report.wrong},
               {"not_sent", report.not_sent},
               {"seconds", report.elapsed_seconds},
               {"requests_per_second", PerSecond(report.succeeded, report.elapsed_seconds)},
               {"texts_per_second", PerSecond(report.texts, report.elapsed_seconds)},
               {"tokens_per_second", PerSecond(report.tokens, report.elapsed_seconds)},
               {"goodput", report.goodput},
               {"latency_ms", LatenciesToJson(report.latencies_ms)},
               {"errors", Json::object()},
               {"reasons", Json::object()},
               {"error_latency_ms", LatenciesToJson(report.error_latencies_ms)},
               {"client_cpu_seconds", report.client_cpu_seconds}};
  json["latency_ms_by_tokens"] = LengthClassesToJson(report);
  for (const auto& [code, count] : report.errors) {
    json["errors"][absl::StatusCodeToString(code)] = count;
  }
  for (const auto& [reason, count] : report.reasons) json["reasons"][reason] = count;
  if (report.health) {
    json["health"] = {{"failed", report.health->failed},
                      {"latency_ms", LatenciesToJson(report.health->latencies_ms)}};
  }
  if (report.server_cpu_seconds) json["server_cpu_seconds"] = *report.server_cpu_seconds;
  return json;
}

std::string ReportToText(const LoadReport& report, const std::string& model, bool verified) {
  Table table({{.name = ""}, {.name = ""}});
  table.AddRow({"model", model});
  table.AddRow({"requests", absl::StrFormat("%d, of which %d succeeded, in %.2f s", report.requests,
                                            report.succeeded, report.elapsed_seconds)});
  const auto rate = [&report](uint64_t count) {
    return absl::StrFormat("%.1f", PerSecond(count, report.elapsed_seconds));
  };
  table.AddRow({"requests/s", rate(report.succeeded)});
  table.AddRow({"texts/s", rate(report.texts)});
  table.AddRow({"tokens/s", rate(report.tokens)});
  table.AddRow({"goodput/s", absl::StrFormat("%.1f", report.goodput)});
  for (const auto& [name, percent] : kPercentiles) {
    table.AddRow({absl::StrCat("latency ", name),
                  absl::StrFormat("%.3f ms", Percentile(report.latencies_ms, percent))});
  }
  for (const auto& [max_tokens, latencies] : report.latencies_ms_by_tokens) {
    table.AddRow(
        {absl::StrCat("p99, up to ", max_tokens, " tokens"),
         absl::StrFormat("%.3f ms (%d requests)", Percentile(latencies, 99), latencies.size())});
  }
  for (const auto& [code, count] : report.errors) {
    table.AddRow({absl::StrCat("error ", absl::StatusCodeToString(code)), absl::StrCat(count)});
  }
  for (const auto& [reason, count] : report.reasons) {
    table.AddRow({absl::StrCat("reason ", reason), absl::StrCat(count)});
  }
  if (!report.error_latencies_ms.empty()) {
    table.AddRow(
        {"error p99", absl::StrFormat("%.3f ms", Percentile(report.error_latencies_ms, 99))});
  }
  if (verified) table.AddRow({"wrong answers", absl::StrCat(report.wrong)});
  if (report.health) {
    table.AddRow(
        {"health p99", absl::StrFormat("%.3f ms (%d checks, %d failed)",
                                       Percentile(report.health->latencies_ms, 99),
                                       report.health->latencies_ms.size() + report.health->failed,
                                       report.health->failed)});
  }
  if (report.not_sent > 0) {
    table.AddRow({"not sent", absl::StrCat(report.not_sent, " (--max-outstanding was reached)")});
  }
  table.AddRow({"client CPU", absl::StrFormat("%.2f s", report.client_cpu_seconds)});
  if (report.server_cpu_seconds) {
    table.AddRow({"server CPU", absl::StrFormat("%.2f s", *report.server_cpu_seconds)});
  }
  return table.ToString();
}

class BenchCommand : public Command {
 public:
  explicit BenchCommand(CLI::App& parent);
  absl::Status Run() override;

 private:
  // Those of --input, or none.
  absl::StatusOr<std::vector<std::string>> LoadTexts() const;
  // Of `texts` in turn; of the book if there are none.
  absl::StatusOr<NextTexts> TextMaker(const std::vector<std::string>& texts) const;
  // Whether the load can be said to have worked at all.
  static absl::Status Judge(const LoadReport& report);

  LoadOptions load_;
  int max_attempts_ = 1;
  int texts_per_request_ = 1;
  std::string words_ = "5-40";
  InputFlags input_;
  bool verify_ = false;
  std::string format_ = "table";
};

BenchCommand::BenchCommand(CLI::App& parent)
    : Command(
          parent, "bench", "Measure latency and throughput of Encode",
          "Closed loop: each of N clients sends its next request when it has its answer; finds "
          "the throughput.\nOpen loop: requests arrive at random at a rate, as from many users; "
          "finds the latency at that rate,\nmeasured from when each should have been sent.\n\n"
          "Examples:\n"
          "  attune bench --clients 8 --duration 20s\n"
          "  attune bench --rate 100 --words 10-200 --format json\n"
          "  attune bench --words mixed --clients 16 --server-pid \"$(pidof attune-server)\"\n"
          "  attune bench --clients 4 --requests 1000 --texts 32 --input texts.txt") {
  load_.warmup = absl::Seconds(1);
  const Flag clients = flags()
                           .Add("-c,--clients", load_.clients, "Requests under way at a time")
                           .InRange(1, 10'000)
                           .ShowDefault();
  flags()
      .Add("-r,--rate", load_.rate, "Open loop: requests per second")
      .InRange(1e-3, 1e6)
      .Excludes(clients);
  flags().AddDuration("-d,--duration", load_.duration, "How long to measure");
  flags()
      .Add("-n,--requests", load_.max_requests, "Stop after this many, not counting the warm-up")
      .InRange(uint64_t{1}, kMaxRequests);
  flags().AddDuration("--warmup", load_.warmup, "How long to run before measuring");
  flags().Add("--texts", texts_per_request_, "Texts per request").InRange(1, 2048).ShowDefault();
  flags()
      .Add("--words", words_,
           "Words per text of the built-in book: MIN-MAX, or mixed for mostly few and some many")
      .Valid([](absl::string_view text) { return ParseWordRange(text).status(); })
      .ShowDefault();
  const Flag input =
      flags()
          .Add("-i,--input", input_.path, "Texts to send, one a line, instead of the book")
          .Takes("FILE");
  flags().Add("--input-format", input_.format, "As for encode").OneOf({"text", "jsonl"});
  flags()
      .AddSwitch("--verify", verify_,
                 "Ask for the vector of each text before the load, and compare all later ones with "
                 "it, bit for bit")
      .Needs(input);
  flags()
      .Add("--connections", load_.connections, "Connections that share the requests")
      .InRange(1, kMaxConnections)
      .ShowDefault();
  flags()
      .Add("--max-outstanding", load_.max_outstanding,
           "Open loop: arrivals beyond this many under way are counted, not sent")
      .InRange(1, 100'000)
      .ShowDefault();
  flags()
      .Add("--attempts", max_attempts_, "Attempts per request; 1 shows every refusal")
      .InRange(1, 5)
      .ShowDefault();
  flags()
      .Add("--server-pid", load_.server_pid,
           "Report what this process, the server on this machine, costs meanwhile")
      .Positive()
      .Takes("PID");
  flags().AddSwitch("--probe-health", load_.probe_health,
                    "Measure health checks on a connection of their own meanwhile");
  flags().Add("--seed", load_.seed, "Of the random texts and arrivals").ShowDefault();
  flags().Add("-f,--format", format_, "How to print it").OneOf({"table", "json"}).ShowDefault();
}

absl::StatusOr<std::vector<std::string>> BenchCommand::LoadTexts() const {
  std::vector<std::string> texts;
  if (input_.path.empty()) return texts;
  const auto source = InputSource::Open(input_);
  if (!source.ok()) return source.status();
  while (texts.size() < kMaxInputTexts) {
    absl::StatusOr<std::optional<EncodeInput>> input = (*source)->Next();
    if (!input.ok()) return input.status();
    if (!*input) break;
    texts.push_back(std::get<std::string>(**std::move(input)));
  }
  if (texts.empty()) return absl::InvalidArgumentError(absl::StrCat(input_.path, " has no texts"));
  return texts;
}

absl::StatusOr<NextTexts> BenchCommand::TextMaker(const std::vector<std::string>& texts) const {
  const size_t count = static_cast<size_t>(texts_per_request_);
  if (texts.empty()) {
    const absl::StatusOr<WordRange> range = ParseWordRange(words_);
    if (!range.ok()) return range.status();
    return [count, range = *range, random = std::mt19937_64(load_.seed)]() mutable {
      std::vector<std::string> sample(count);
      for (std::string& text : sample) text = SampleText(range, random);
      return sample;
    };
  }
  return [count, &texts, next = size_t{0}]() mutable {
    std::vector<std::string> some(count);
    for (std::string& text : some) text = texts[next++ % texts.size()];
    return some;
  };
}

absl::Status BenchCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  // Says at once if there is no server, and which model the numbers are of.
  const absl::StatusOr<v1::GetModelResponse> model = (*client)->GetModel();
  if (!model.ok()) return model.status();
  const absl::StatusOr<std::vector<std::string>> texts = LoadTexts();
  if (!texts.ok()) return texts.status();
  const absl::StatusOr<NextTexts> next_texts = TextMaker(*texts);
  if (!next_texts.ok()) return next_texts.status();
  absl::StatusOr<KnownVectors> known = KnownVectors();
  if (verify_) known = KnownVectors::Ask(**client, *texts, LoadEncodeOptions());
  if (!known.ok()) return known.status();
  if (verify_) load_.known = &*known;
  load_.client = client_options();
  load_.client.max_attempts = max_attempts_;
  const absl::StatusOr<LoadReport> report = RunLoad(load_, *next_texts);
  if (!report.ok()) return report.status();
  absl::Status status = Print(
      format_ == "json" ? absl::StrCat(DumpJson(ReportToJson(*report, model->name()), 2), "\n")
                        : ReportToText(*report, model->name(), verify_));
  return status.ok() ? Judge(*report) : status;
}

absl::Status BenchCommand::Judge(const LoadReport& report) {
  if (report.wrong > 0) {
    return absl::InternalError(absl::StrCat(report.wrong, " answers were wrong"));
  }
  if (report.succeeded > 0) return absl::OkStatus();
  if (report.errors.empty()) {
    return absl::InvalidArgumentError("no request was measured: --duration ended before the first");
  }
  return absl::Status(report.errors.begin()->first,
                      absl::StrCat("no request succeeded: ", report.first_error));
}

}  // namespace

std::unique_ptr<Command> MakeBenchCommand(CLI::App& parent) {
  return std::make_unique<BenchCommand>(parent);
}

}  // namespace attune::cli
