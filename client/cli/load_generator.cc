#include "client/cli/load_generator.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attune/v1/attune.grpc.pb.h"
#include "client/channel.h"
#include "client/cli/process_cpu.h"
#include "client/error_details.h"
#include "client/grpc_status.h"
#include "grpcpp/completion_queue.h"

namespace attune::cli {
namespace {

struct LoadCall {
  grpc::ClientContext context;
  v1::EncodeResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReaderInterface<v1::EncodeResponse>> reader;
  absl::Time intended;  // the time of sending; in open loop, when it should have been sent
  std::vector<std::string> texts;  // if the answer is to be compared
};

// Where LoadReport::latencies_ms_by_tokens counts a request.
uint64_t LengthClass(uint64_t tokens) { return std::bit_ceil(std::max(tokens, uint64_t{16})); }

// One run. Everything happens on the calling thread, so the numbers need no lock and the client's
// cost per request stays small.
class LoadRun {
 public:
  // `health` asks for the server's; null if nobody does.
  LoadRun(const LoadOptions& options, const NextTexts& next_texts, std::unique_ptr<Client> health)
      : options_(options),
        next_texts_(next_texts),
        health_client_(std::move(health)),
        random_(options.seed) {
    ClientOptions client = options.client;
    client.private_connection = true;
    for (int i = 0; i < options.connections; ++i) {
      stubs_.push_back(v1::EncoderService::NewStub(CreateEncoderChannel(client)));
    }
  }
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;
  ~LoadRun() {
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::StatusOr<LoadReport> Run() {
    measure_from_ = absl::Now() + options_.warmup;
    stop_sending_ = measure_from_ + options_.duration;
    cpu_at_start_ = ReadCpu();  // if nothing is ever measured
    options_.rate ? OpenLoop() : ClosedLoop();
    if (probe_) report_.health = probe_->Stop();
    report_.elapsed_seconds =
        absl::ToDoubleSeconds(std::max(last_answer_, measure_from_) - measure_from_);
    if (last_sent_ > measure_from_) {
      report_.goodput = static_cast<double>(right_at_last_sending_) /
                        absl::ToDoubleSeconds(last_sent_ - measure_from_);
    }
    const CpuSeconds cpu = ReadCpu();
    report_.client_cpu_seconds = cpu.client - cpu_at_start_.client;
    if (options_.server_pid) {
      if (!cpu_at_start_.server.ok()) return cpu_at_start_.server.status();
      if (!cpu.server.ok()) return cpu.server.status();
      report_.server_cpu_seconds = *cpu.server - *cpu_at_start_.server;
    }
    std::sort(report_.latencies_ms.begin(), report_.latencies_ms.end());
    std::sort(report_.error_latencies_ms.begin(), report_.error_latencies_ms.end());
    for (auto& [tokens, latencies] : report_.latencies_ms_by_tokens) {
      std::sort(latencies.begin(), latencies.end());
    }
    return std::move(report_);
  }

 private:
  struct CpuSeconds {
    double client = 0;
    absl::StatusOr<double> server = 0.0;
  };

  CpuSeconds ReadCpu() const {
    return {OwnCpuSeconds(), options_.server_pid ? CpuSecondsOf(*options_.server_pid) : 0.0};
  }

  bool MaySend(absl::Time now) const {
    return now < stop_sending_ && (!options_.max_requests || measured_ < *options_.max_requests);
  }

  void ClosedLoop() {
    for (int i = 0; i < options_.clients && MaySend(absl::Now()); ++i) Send(absl::Now());
    while (outstanding_ > 0) {
      AwaitOne(absl::InfiniteFuture());
      if (const absl::Time now = absl::Now(); MaySend(now)) Send(now);
    }
  }

  void OpenLoop() {
    std::exponential_distribution<double> gap(*options_.rate);
    absl::Time next = absl::Now();
    while (MaySend(next)) {
      AwaitOne(next);
      for (const absl::Time now = absl::Now(); next <= now && MaySend(next);
           next += absl::Seconds(gap(random_))) {
        if (outstanding_ < options_.max_outstanding) {
          Send(next);
        } else if (next >= measure_from_) {
          ++report_.not_sent;
        }
      }
    }
    while (outstanding_ > 0) AwaitOne(absl::InfiniteFuture());
  }

  void Send(absl::Time intended) {
    auto call = std::make_unique<LoadCall>();
    call->intended = intended;
    call->context.set_deadline(absl::ToChronoTime(intended + options_.client.deadline));
    v1::EncodeRequest request;
    std::vector<std::string> texts = next_texts_();
    request.mutable_texts()->mutable_values()->Assign(texts.begin(), texts.end());
    if (options_.known != nullptr) call->texts = std::move(texts);
    *request.mutable_options() = LoadEncodeOptions();
    const size_t stub = sent_ % stubs_.size();
    call->reader = stubs_[stub]->AsyncEncode(&call->context, request, &queue_);
    LoadCall* tag = call.release();  // owned by the queue until its event
    tag->reader->Finish(&tag->response, &tag->status, tag);
    ++sent_;
    if (intended >= measure_from_) CountSending();
    ++outstanding_;
  }

  void CountSending() {
    if (measured_++ == 0) {
      cpu_at_start_ = ReadCpu();
      if (health_client_ != nullptr) probe_.emplace(std::move(health_client_));
    }
    last_sent_ = absl::Now();
    right_at_last_sending_ = right_;
  }

  // Handles one answer, or returns at `until` without.
  void AwaitOne(absl::Time until) {
    void* tag = nullptr;
    bool ok = false;
    const auto event = queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(until));
    if (event != grpc::CompletionQueue::GOT_EVENT) return;
    const std::unique_ptr<LoadCall> call(static_cast<LoadCall*>(tag));
    --outstanding_;
    const absl::Time now = absl::Now();
    const bool wrong = call->status.ok() && options_.known != nullptr &&
                       !options_.known->AreOf(call->texts, call->response);
    if (wrong) ++report_.wrong;  // is so in the warm-up, too
    if (call->status.ok() && !wrong && now >= measure_from_) ++right_;
    if (call->intended >= measure_from_) Record(*call, now);
  }

  void Record(const LoadCall& call, absl::Time now) {
    last_answer_ = now;
    ++report_.requests;
    if (!call.status.ok()) {
      const absl::Status status = ToAbslStatus(call.status);
      if (report_.errors.empty()) report_.first_error = std::string(status.message());
      ++report_.errors[status.code()];
      if (const auto reason = ReasonOfError(status)) ++report_.reasons[*reason];
      report_.error_latencies_ms.push_back(absl::ToDoubleMilliseconds(now - call.intended));
      return;
    }
    ++report_.succeeded;
    report_.texts += static_cast<uint64_t>(call.response.embeddings_size());
    uint64_t tokens = 0;
    for (const v1::Embedding& embedding : call.response.embeddings()) tokens += embedding.tokens();
    report_.tokens += tokens;
    const double latency_ms = absl::ToDoubleMilliseconds(now - call.intended);
    report_.latencies_ms.push_back(latency_ms);
    report_.latencies_ms_by_tokens[LengthClass(tokens)].push_back(latency_ms);
  }

  const LoadOptions& options_;
  const NextTexts& next_texts_;
  std::unique_ptr<Client> health_client_;  // until the measuring begins
  std::optional<HealthProbe> probe_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<v1::EncoderService::StubInterface>> stubs_;
  grpc::CompletionQueue queue_;
  absl::Time measure_from_;
  absl::Time stop_sending_;
  absl::Time last_answer_ = absl::InfinitePast();
  absl::Time last_sent_ = absl::InfinitePast();
  uint64_t right_ = 0;  // answers since the measuring began
  uint64_t right_at_last_sending_ = 0;
  CpuSeconds cpu_at_start_;  // of measuring
  uint64_t sent_ = 0;
  uint64_t measured_ = 0;  // sent since the warm-up
  int outstanding_ = 0;
  LoadReport report_;
};

}  // namespace

v1::EncodeOptions LoadEncodeOptions() {
  v1::EncodeOptions options;
  options.set_truncation(v1::TRUNCATION_RIGHT);
  return options;
}

absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, const NextTexts& next_texts) {
  if (absl::Status status = options.client.Validate(); !status.ok()) return status;
  if (options.clients < 1 || options.connections < 1 || options.max_outstanding < 1) {
    return absl::InvalidArgumentError(
        "clients, connections and max_outstanding must be at least 1");
  }
  if (options.rate && !(*options.rate > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("rate is ", *options.rate, "; must be above 0"));
  }
  if (options.duration == absl::InfiniteDuration() && !options.max_requests) {
    return absl::InvalidArgumentError("a load needs a finite duration or number of requests");
  }
  if (options.server_pid) {
    if (auto cpu = CpuSecondsOf(*options.server_pid); !cpu.ok()) return cpu.status();
  }
  std::unique_ptr<Client> health;
  if (options.probe_health) {
    ClientOptions own_connection = options.client;
    own_connection.private_connection = true;
    auto client = Client::Create(own_connection);
    if (!client.ok()) return client.status();
    health = *std::move(client);
  }
  return LoadRun(options, next_texts, std::move(health)).Run();
}

}  // namespace attune::cli
