// attune-server: flags and environment to ServerOptions, signals, exit code.

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "server/cache_folder.h"
#include "server/check_command.h"
#include "server/grpc/library_logs.h"
#include "server/quality_command.h"
#include "server/reloader.h"
#include "server/server.h"
#include "server/token_command.h"

extern char** environ;

namespace attune {
namespace {

constexpr char kDescription[] =
    "Turns text into vectors with a transformer encoder on CPUs, and shows what attention did.\n"
    "Serves attune.v1.EncoderService over gRPC and as JSON over HTTP, health and reflection.\n"
    "\n"
    "  attune-server --model ~/.cache/attune/all-MiniLM-L6-v2\n"
    "  attune health && attune encode \"Hello, world.\"\n"
    "  attune-server check --json     whether these settings and this model would serve; no port\n"
    "  attune-server quality          how close bf16 and int8 are to f32; has a --help of its own\n"
    "  attune-server token NAME       a new token for NAME, and its line for --token-file\n"
    "\n"
    "Every flag has an environment variable, --max-texts is ATTUNE_MAX_TEXTS; the flag wins.\n"
    "Sizes take suffixes (4MiB), durations take units (500ms, 2m). SIGTERM drains, twice stops.\n"
    "SIGHUP loads the model folder again, and serves the model as it is then without a pause.";

// The flags of one process. Each Add function binds a flag and its environment variable to a field.
class Flags {
 public:
  // `check`: of the command of that name.
  explicit Flags(bool check) : app_(kDescription, "attune-server") {
    const std::string cache = CacheFolder();
    options_.model = DefaultModelFolder();
    if (!cache.empty()) options_.quality_cache = cache + "/quality";
    app_.set_version_flag("--version", "attune-server " ATTUNE_VERSION);
    app_.get_formatter()->column_width(34);

    Add("grpc-address", options_.grpc_address, "Where to listen, HOST:PORT; port 0: any free one");
    Add("http-address", options_.http_address, "Where to serve the API as JSON, HOST:PORT, or off");
    Add("insecure", options_.insecure,
        "Serve unencrypted where other machines can connect: true or false");
    Add("tls-cert", options_.tls_cert,
        "Certificate chain (PEM): TLS on both ports; read again when it changes");
    Add("tls-key", options_.tls_key, "Its private key (PEM), not encrypted");
    Add("tls-client-ca", options_.tls_client_ca,
        "Ask clients for certificates of this authority (PEM)");
    Add("token-file", options_.token_file,
        "Who may call; `attune-server token NAME` makes a line of it; read again when it changes");
    Add("ops-address", options_.ops_address,
        "Where to serve /metrics, /livez, /readyz and /debug/calls, HOST:PORT, or off");
    Add("model", options_.model, "Model folder (Hugging Face or sentence-transformers layout)");
    Add("precision", options_.precision,
        "Type of the matrix products: f32, bf16, int8, or auto: bf16 where it is faster, else f32");
    Add("kernels", options_.kernels, "Whose matrix kernels run: auto, onednn or native");
    Add("quality-cache", options_.quality_cache,
        "Folder that remembers how close bf16 and int8 are to f32, or off");
    Add("threads", options_.threads, "Threads that compute; 0: what affinity and cgroup allow");
    Add("tokenizer-threads", options_.tokenizer_threads,
        "Threads that tokenise requests of more than 8 KiB of text");
    Add("split-lone-requests", options_.split_lone_requests,
        "Let idle threads help with a request while no other waits: true or false");
    AddBytes("max-message-bytes", options_.max_message_bytes, "Largest request message");
    Add("max-texts", options_.max_texts, "Most texts in one request");
    AddBytes("max-text-bytes", options_.max_text_bytes, "Largest text");
    Add("max-input-tokens", options_.max_input_tokens,
        "Most tokens of a text; 0: the model's own limit, which may be raised up to its positions");
    Add("max-batch-tokens", options_.max_batch_tokens, "Most tokens in one forward pass");
    Add("max-batch-items", options_.max_batch_items, "Most texts in one forward pass");
    Add("max-queue-tokens", options_.max_queue_tokens,
        "Most tokens that wait for a worker; 0: what the largest request needs");
    Add("max-queue-items", options_.max_queue_items,
        "Most texts that wait for a worker; 0: 16384, or --max-texts if that is more");
    AddDuration(
        "max-queue-wait", options_.max_queue_wait,
        "Longest predicted wait of a request of up to 8 texts; 0: 500ms, or that of 16 batches");
    AddBytes("max-pending-bytes", options_.max_pending_bytes,
             "Most text that waits to be tokenised");
    AddDuration("max-deadline", options_.max_deadline,
                "Longest time a request, or an item of a stream, may take");
    Add("max-parallel-per-stream", options_.max_parallel_per_stream,
        "Most items of one StreamEncode under way at a time");
    AddDuration("stream-stall-timeout", options_.stream_stall_timeout,
                "Cancel a stream whose client takes no answer for this long");
    AddBytes("max-attention-reply", options_.max_attention_reply_bytes,
             "Largest attention map a request may ask for");
    AddBytes("attention-budget", options_.attention_budget_bytes,
             "What all attention maps in progress may hold");
    Add("max-attention-streams", options_.max_attention_streams,
        "Most StreamAttentionMap calls at a time");
    AddBytes("calls-budget", options_.calls_budget_bytes,
             "What the messages of all calls under way may take");
    AddBytes("memory-limit", options_.memory_limit_bytes,
             "Memory for the process: budgets that no flag sets shrink to fit; 0: what the control "
             "group allows");
    AddBytes("grpc-memory-quota", options_.grpc_memory_quota_bytes, "gRPC's transport buffers");
    Add("http-threads", options_.http_threads,
        "HTTP connections served at once, each by a thread that decodes, waits and encodes");
    AddDuration("http-io-timeout", options_.http_io_timeout,
                "For an HTTP request to arrive, and for a reply that makes no progress");
    Add("reflection", options_.reflection, "Serve gRPC reflection: true or false");
    AddDuration("drain-delay", options_.drain_delay,
                "After SIGTERM, go on serving for this long while traffic moves away");
    AddDuration("drain-timeout", options_.drain_timeout,
                "Then wait this long for what is still running");
    Add("log-level", log_level_, "debug, info, warning or error");
    Add("log-format", log_format_, "json, an object a line, or text, for people");
    Add("access-log", options_.access_log,
        "Log each call that ends, at most 10 lines a second: true or false");
    Add("otlp-endpoint", options_.otlp_endpoint,
        "Where to send the spans of traced calls (OTLP over gRPC), http://HOST:PORT; empty: "
        "nowhere");
    app_.add_flag("--print-config", print_config_, "Print the effective settings as JSON and exit");
    if (check) app_.add_flag("--json", json_, "Print the summary as JSON");
  }

  // Returns an exit code when the process should end at once.
  std::optional<int> Parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // Help and version are not errors; what is one gets exit code 1 and one line.
      if (error.get_exit_code() == 0) return app_.exit(error);
      std::fprintf(stderr, "attune-server: %s (see attune-server --help)\n", error.what());
      return 1;
    }
    const absl::StatusOr<LogLevel> level = ParseLogLevel(log_level_);
    if (!level.ok()) {
      std::fprintf(stderr, "attune-server: --log-level: %s\n",
                   std::string(level.status().message()).c_str());
      return 1;
    }
    const absl::StatusOr<LogFormat> format = ParseLogFormat(log_format_);
    if (!format.ok()) {
      std::fprintf(stderr, "attune-server: --log-format: %s\n",
                   std::string(format.status().message()).c_str());
      return 1;
    }
    for (const CLI::Option* option : app_.get_options()) {
      if (option->count() > 0) options_.set_flags.insert(option->get_lnames().front());
    }
    SetLogLevel(*level);
    SetLogFormat(*format);
    WarnOfUnknownVariables();
    if (print_config_) {
      std::puts(EffectiveConfig().c_str());
      return 0;
    }
    return std::nullopt;
  }

  const ServerOptions& options() const { return options_; }
  bool json() const { return json_; }

 private:
  static std::string VariableName(const std::string& flag) {
    return "ATTUNE_" + absl::AsciiStrToUpper(absl::StrReplaceAll(flag, {{"-", "_"}}));
  }

  CLI::Option* Name(CLI::Option* option, const std::string& flag) {
    return option->envname(VariableName(flag));
  }

  template <typename T>
  void Add(const std::string& flag, T& field, const std::string& help) {
    Name(app_.add_option("--" + flag, field, help)->capture_default_str(), flag);
  }

  void AddBytes(const std::string& flag, int64_t& field, const std::string& help) {
    Name(app_.add_option("--" + flag, field, help)
             ->transform(CLI::AsSizeValue(false))
             ->type_name("BYTES")
             ->capture_default_str(),
         flag);
  }

  void AddDuration(const std::string& flag, absl::Duration& field, const std::string& help) {
    const auto parse = [&field](const CLI::results_t& results) {
      return absl::ParseDuration(results[0], &field);
    };
    Name(app_.add_option("--" + flag, parse, help)
             ->type_name("DURATION")
             ->default_str(absl::FormatDuration(field)),
         flag);
  }

  // Both programs run in one container.
  static bool IsClientVariable(absl::string_view name) {
    return name == "ATTUNE_SERVER" || name == "ATTUNE_TOKEN" || name == "ATTUNE_TLS_CA" ||
           name == "ATTUNE_CLIENT_TLS_CERT" || name == "ATTUNE_CLIENT_TLS_KEY";
  }

  // A Kubernetes Service named attune injects variables of its own, so this is not an error.
  void WarnOfUnknownVariables() const {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
      if (!absl::StartsWith(name, "ATTUNE_")) continue;
      bool known = IsClientVariable(name);
      for (const CLI::Option* option : app_.get_options()) known |= option->get_envname() == name;
      if (!known) {
        Log(LogLevel::kWarning, "unknown_variable", "no flag has this environment variable",
            {{"name", name}});
      }
    }
  }

  std::string EffectiveConfig() const {
    Json config = Json::object();
    for (const CLI::Option* option : app_.get_options()) {
      if (option->get_envname().empty()) continue;
      const std::string name = option->get_lnames().front();
      config[name] = option->count() > 0 ? option->results().front() : option->get_default_str();
    }
    return config.dump(2);
  }

  CLI::App app_;
  ServerOptions options_;
  std::string log_level_ = "info";
  std::string log_format_ = "json";
  bool print_config_ = false;
  bool json_ = false;
};

// What a running server listens to, taken by one thread so that no handler runs in the middle of
// anything.
sigset_t ServerSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// Waits for SIGTERM or SIGINT; calls `on_hangup` for each SIGHUP meanwhile.
void WaitForStopSignal(const std::function<void()>& on_hangup) {
  const sigset_t signals = ServerSignals();
  for (;;) {
    int number = 0;
    if (sigwait(&signals, &number) != 0) continue;
    if (number != SIGHUP) return;
    on_hangup();
  }
}

// A listener that runs out of descriptors never accepts again, so take all that is allowed.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Fail(const absl::Status& status) {
  Log(LogLevel::kError, "start_failed", std::string(status.message()),
      {{"code", absl::StatusCodeToString(status.code())}});
  return 1;
}

int Check(const ServerOptions& options, bool json) {
  const absl::Status status = CheckStart(options, json);
  return status.ok() ? 0 : Fail(status);
}

// Ends with the process when no second signal comes.
void HurryAtTheNextSignal(Server& server) {
  try {
    std::thread([&server] {
      WaitForStopSignal([] {});
      server.Hurry();
    }).detach();
  } catch (const std::system_error& error) {
    Log(LogLevel::kWarning, "no_second_signal", "the drain cannot be hurried",
        {{"error", error.what()}});
  }
}

int ServeUntilStopped(const ServerOptions& options) {
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Bind(options);
  if (!server.ok()) return Fail(server.status());
  Reloader reloader([&server] { (*server)->Reload().IgnoreError(); });  // it is logged
  const absl::Status loaded = (*server)->Load();
  if (!loaded.ok()) return Fail(loaded);
  WaitForStopSignal([&reloader] { reloader.Request(); });
  HurryAtTheNextSignal(**server);
  const bool finished = (*server)->Drain();
  std::fflush(nullptr);
  // No destructors: the signal thread still knows the server, and everything is answered.
  std::_Exit(finished ? 0 : 2);
}

int Serve(const ServerOptions& options) {
  // Blocked before any thread starts, so that every thread inherits it.
  const sigset_t signals = ServerSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A log that nobody reads, or that may not grow, is no reason to end.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  LogForLibraries();
  // Memory freed by one thread is then found by another; gRPC's bursts otherwise stay resident.
  mallopt(M_ARENA_MAX, 2);

  // Of threads that there are several of, fewer will do; the single ones must start.
  try {
    return ServeUntilStopped(options);
  } catch (const std::system_error& error) {
    return Fail(
        absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.what())));
  }
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == "quality") {
    return attune::RunQualityCommand(argc - 1, argv + 1);
  }
  if (argc > 1 && absl::string_view(argv[1]) == "token") {
    return attune::RunTokenCommand(argc - 1, argv + 1);
  }
  const bool check = argc > 1 && absl::string_view(argv[1]) == "check";
  attune::Flags flags(check);
  if (check) {
    --argc;
    ++argv;
  }
  if (const std::optional<int> exit_code = flags.Parse(argc, argv); exit_code.has_value()) {
    return *exit_code;
  }
  return check ? attune::Check(flags.options(), flags.json()) : attune::Serve(flags.options());
}
