#include "server/server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "server/error_details.h"
#include "server/http/api_port.h"
#include "server/http/host_port.h"
#include "server/http/ops_port.h"
#include "server/out_of_memory.h"

namespace attune {
namespace {

// A drained server goes on refusing by name until nothing has arrived for this long, but not longer
// than kCloseGrace: gRPC ends a call that meets the closing port with CANCELLED, which no client
// retries.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);
// Calls still running when the port closes get this long to end.
constexpr absl::Duration kCloseGrace = absl::Seconds(1);
// The spans of the last calls get this long to be sent.
constexpr absl::Duration kFlushGrace = absl::Seconds(2);
// How often a drain looks whether it has been hurried.
constexpr absl::Duration kDrainPoll = absl::Milliseconds(20);

int ToMilliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetTransportLimits(const ServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(-1);  // replies are bounded before they are computed
  // A megabyte of gzip inflates to a gigabyte before any limit sees it.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  // Otherwise a second server would share the port without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8192);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ToMilliseconds(absl::Minutes(15)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMilliseconds(absl::Minutes(30)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             ToMilliseconds(options.drain_timeout));
  grpc::ResourceQuota quota("attune");
  quota.Resize(static_cast<size_t>(options.grpc_memory_quota_bytes));
  builder.SetResourceQuota(quota);
}

// That it is meant, --insecure has said already.
void WarnIfOpenToTheNetwork(const std::string& address, const PortGuard& guard) {
  if (guard.tls != nullptr || IsLoopbackAddress(address)) return;
  Log(LogLevel::kWarning, "open_to_the_network",
      guard.authenticator->asks_for_tokens()
          ? "tokens travel unencrypted: whoever can read this network can use them"
          : "anyone who reaches this address is served, unencrypted; keep it inside a trusted "
            "network",
      {{"address", address}});
}

void LogMemoryPlan(const MemoryPlan& plan, std::optional<int64_t> limit_bytes,
                   const std::vector<std::string>& shrunk) {
  std::vector<LogField> fields;
  for (const MemoryPlan::Term& term : plan.terms()) {
    fields.emplace_back(absl::StrCat(term.name, "_bytes"), term.bytes);
  }
  fields.emplace_back("total_bytes", plan.total());
  fields.emplace_back("limit_bytes", limit_bytes.value_or(0));
  fields.emplace_back("shrunk", absl::StrJoin(shrunk, " "));
  Log(LogLevel::kInfo, "memory_plan", "the most memory that any load needs", fields);
}

// The plugin is for the whole process: once, and before any builder.
void EnableReflection() {
  static std::once_flag once;
  std::call_once(once, grpc::reflection::InitProtoReflectionServerBuilderPlugin);
}

}  // namespace

Server::Server(const MemoryFit& fit, const CpuBudget& cpus, PortGuard guard,
               std::unique_ptr<TraceExporter> trace_exporter)
    : options_(fit.options),
      guard_(std::move(guard)),
      cpus_(cpus),
      memory_limit_bytes_(fit.limit_bytes),
      memory_plan_(fit.plan),
      budgets_(options_),
      trace_exporter_(std::move(trace_exporter)),
      monitor_(options_.access_log, trace_exporter_.get()),
      encoder_service_(gate_, monitor_, *guard_.authenticator, options_),
      unknown_methods_(monitor_),
      credentials_(std::make_shared<PortCredentials>(guard_)) {
  monitor_.metrics().server().SetMemoryBudget(memory_plan_.total());
  monitor_.metrics().SetGuardSource([this] { return CountAtTheGuard(); });
}

GuardCounts Server::CountAtTheGuard() const {
  GuardCounts counts;
  counts.auth_failures = guard_.authenticator->failures();
  if (guard_.tls != nullptr) {
    counts.tls_reload_failures = guard_.tls->reload_failures();
    counts.certificate_expiry = guard_.tls->current()->expires;
  }
  return counts;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Bind(const ServerOptions& options) {
  ATTUNE_RETURN_IF_ERROR(Validate(options));
  ATTUNE_ASSIGN_OR_RETURN(PortGuard guard, OpenPortGuard(options));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<TraceExporter> trace_exporter,
                          OpenTraceExporter(options.otlp_endpoint));
  const CpuBudget cpus = ReadCpuBudget();
  ATTUNE_ASSIGN_OR_RETURN(const MemoryFit fit, FitMemory(options, cpus));
  LogMemoryPlan(fit.plan, fit.limit_bytes, fit.shrunk);
  std::unique_ptr<Server> server(
      new Server(fit, cpus, std::move(guard), std::move(trace_exporter)));
  ATTUNE_RETURN_IF_ERROR(server->OpenGrpcPort());
  ATTUNE_RETURN_IF_ERROR(server->OpenHttpPort());
  ATTUNE_RETURN_IF_ERROR(server->OpenOpsPort());
  return server;
}

absl::Status Server::OpenGrpcPort() {
  if (options_.reflection) EnableReflection();
  grpc::ServerBuilder builder;
  SetTransportLimits(options_, builder);
  builder.AddListeningPort(options_.grpc_address, credentials_, &port_);
  builder.RegisterService(&encoder_service_);
  builder.RegisterService(&health_service_);
  builder.RegisterCallbackGenericService(&unknown_methods_);
  grpc_server_ = builder.BuildAndStart();
  if (grpc_server_ == nullptr || port_ == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on --grpc-address ", options_.grpc_address,
        ": it is taken, not an address of this machine, or not of the form HOST:PORT"));
  }
  Log(LogLevel::kInfo, "listening", "the port is open; requests wait for the model",
      {{"grpc_address", options_.grpc_address}, {"port", port_}});
  WarnIfOpenToTheNetwork(options_.grpc_address, guard_);
  return absl::OkStatus();
}

absl::Status Server::OpenHttpPort() {
  if (options_.http_address == "off") return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<HttpServer>> started =
      StartApiPort(options_, gate_, guard_, monitor_);
  if (!started.ok()) {
    return absl::Status(started.status().code(),
                        absl::StrCat("--http-address: ", started.status().message()));
  }
  http_server_ = *std::move(started);
  Log(LogLevel::kInfo, "listening", "the HTTP port is open; requests wait for the model",
      {{"http_address", options_.http_address}, {"http_port", http_server_->port()}});
  WarnIfOpenToTheNetwork(options_.http_address, guard_);
  return absl::OkStatus();
}

absl::Status Server::OpenOpsPort() {
  if (options_.ops_address == "off") return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<HttpServer>> started = StartOpsPort(options_, monitor_);
  if (!started.ok()) {
    return absl::Status(started.status().code(),
                        absl::StrCat("--ops-address: ", started.status().message()));
  }
  ops_server_ = *std::move(started);
  Log(LogLevel::kInfo, "listening", "the operator's port is open",
      {{"ops_address", options_.ops_address}, {"ops_port", ops_server_->port()}});
  return absl::OkStatus();
}

void Server::SetServing(bool serving) {
  health_service_.SetServing(serving);
  if (http_server_ != nullptr) http_server_->SetReady(serving);
  if (ops_server_ != nullptr) ops_server_->SetReady(serving);
  monitor_.metrics().server().SetReady(serving);
}

WorkLoad Server::CurrentLoad() const {
  MutexLock lock(mu_);
  return model_->load();
}

void Server::Announce(absl::string_view event, absl::string_view message) {
  const ModelInfo& model = model_->info();
  Log(LogLevel::kInfo, event, message,
      {{"model", model.name},
       {"revision", model.revision},
       {"precision", PrecisionName(model.precision.precision)},
       {"kernels", model.kernels},
       {"isa", model.isa},
       {"onednn_version", model.onednn_version},
       {"threads", model_->threads()},
       {"affinity_cpus", cpus_.affinity.size()},
       {"cgroup_cpus", cpus_.cgroup_quota.value_or(0)},
       {"max_input_tokens", model_->options().max_input_tokens},
       {"max_queue_tokens", model_->options().max_queue_tokens},
       {"max_queue_items", model_->options().max_queue_items},
       {"load_seconds", absl::ToDoubleSeconds(model_->load_time())}});
  // The revision is the SHA-256 of the model's files, and its beginning a version for people.
  monitor_.metrics().server().SetModel({model.name, model.revision.substr(0, 12),
                                        std::string(PrecisionName(model.precision.precision)),
                                        model.isa, model.revision});
}

absl::StatusOr<std::unique_ptr<ServedModel>> Server::LoadModel() {
  return OrOutOfMemory(
      [this] { return ServedModel::Load(options_, cpus_, budgets_, &monitor_.metrics().work()); });
}

absl::Status Server::Load() {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<ServedModel> model, LoadModel());
  {
    MutexLock lock(mu_);
    model_ = std::move(model);
    gate_.Serve(model_->GiveBackend());
    SetServing(true);
    Announce("serving", "ready for requests");
  }
  monitor_.metrics().SetLoadSource([this] { return CurrentLoad(); });
  return absl::OkStatus();
}

absl::Status Server::Reload() {
  Log(LogLevel::kInfo, "reloading", "loading the model again; the one that serves goes on");
  absl::Status reloaded = ReloadModel();
  monitor_.metrics().server().SetMemoryBudget(memory_plan_.total());
  if (!reloaded.ok()) {
    Log(LogLevel::kError, "reload_failed", std::string(reloaded.message()),
        {{"code", absl::StatusCodeToString(reloaded.code())}});
  }
  return reloaded;
}

absl::Status Server::ReloadModel() {
  ATTUNE_ASSIGN_OR_RETURN(MemoryPlan plan, OrOutOfMemory([this] {
                            return PlanReload(options_, cpus_, memory_plan_, memory_limit_bytes_);
                          }));
  LogMemoryPlan(plan, memory_limit_bytes_, {});
  monitor_.metrics().server().SetMemoryBudget(plan.total());
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<ServedModel> old, LoadModel());
  {
    MutexLock lock(mu_);
    std::swap(model_, old);
    gate_.Replace(model_->GiveBackend());
    Announce("reloaded", "new requests are answered by the model as it is now");
  }
  // Here and not on the thread of its last call, which may be one of its own.
  old->WaitUntilUnused();
  old.reset();
  plan.other_model = 0;
  plan.comparison = 0;
  memory_plan_ = plan;
  Log(LogLevel::kInfo, "old_model_freed", "its last request has been answered");
  return absl::OkStatus();
}

int64_t Server::batches_run() const {
  MutexLock lock(mu_);
  return model_ == nullptr ? 0 : model_->batches_run();
}

QueueCounts Server::queue_counts() const {
  MutexLock lock(mu_);
  return model_->queue_counts();
}

bool Server::has_model() const {
  MutexLock lock(mu_);
  return model_ != nullptr;
}

bool Server::Drain() {
  if (grpc_server_ == nullptr || std::exchange(drained_, true)) return true;
  SetServing(false);
  if (has_model()) {
    Log(LogLevel::kInfo, "draining", "still serving while traffic moves away",
        {{"drain_delay_seconds", absl::ToDoubleSeconds(options_.drain_delay)}});
    WaitUnlessHurried(options_.drain_delay);
  }
  gate_.Refuse(WithReason(absl::UnavailableError("the server is draining; try another"),
                          ErrorReason::kDraining));
  encoder_service_.EndStreams(gate_.backend().status());
  health_service_.EndWatches();
  const bool finished = WaitIdleUnlessHurried();
  RefuseUntilQuiet();
  if (http_server_ != nullptr) http_server_->Stop();
  // gRPC takes a time of the wall clock.
  grpc_server_->Shutdown(absl::ToChronoTime(SteadyNow() + WallClockAhead() + kCloseGrace));
  // Cancelled calls end at the next layer boundary; their messages live until then.
  gate_.WaitIdle(kCloseGrace);
  if (trace_exporter_ != nullptr) trace_exporter_->Flush(kFlushGrace);
  if (ops_server_ != nullptr) ops_server_->Stop();
  Log(finished ? LogLevel::kInfo : LogLevel::kWarning, "stopped",
      finished ? "every admitted request was answered" : "requests were still running");
  return finished;
}

void Server::Hurry() {
  MutexLock lock(mu_);
  hurry_ = true;
  hurry_changed_.NotifyAll();
}

bool Server::WaitUnlessHurried(absl::Duration duration) {
  const absl::Time end = SteadyNow() + duration;
  MutexLock lock(mu_);
  while (!hurry_ && SteadyNow() < end) hurry_changed_.WaitFor(mu_, end - SteadyNow());
  return !hurry_;
}

bool Server::WaitIdleUnlessHurried() {
  const absl::Time end = SteadyNow() + options_.drain_timeout;
  while (!gate_.WaitIdle(kDrainPoll)) {
    if (!WaitUnlessHurried(absl::ZeroDuration()) || SteadyNow() >= end) return false;
  }
  return true;
}

void Server::RefuseUntilQuiet() {
  const absl::Time end = SteadyNow() + kCloseGrace;
  absl::Duration left = kQuiet;
  while (left > absl::ZeroDuration() && SteadyNow() < end && WaitUnlessHurried(left)) {
    left = gate_.last_arrival() + kQuiet - SteadyNow();
  }
}

Server::~Server() {
  Hurry();
  Drain();
  // Work that a hurried drain left behind still answers its calls, so it ends before the services.
  std::unique_ptr<ServedModel> model;
  {
    MutexLock lock(mu_);
    model = std::move(model_);
  }
}

}  // namespace attune
