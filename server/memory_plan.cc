#include "server/memory_plan.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "engine/model/encoder.h"

namespace attune {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// What waits: a token's id and type, in vectors that may have room for as many again; and an item's
// place in the queue with the headers of its vectors.
constexpr int64_t kQueuedTokenBytes = 32;
constexpr int64_t kQueuedItemBytes = 512;

// A byte of text becomes at most one token, with its place in the text where that is asked for.
constexpr int64_t kTokenizedBytesPerByte = 64;

// A message in memory is at most this many times as large as it was sent, with the lists of views
// that are made of it; and as JSON, with what is made to read that. Measured for messages of
// nothing but empty elements: 61 and 77. They are refused once they are decoded, so there is one of
// them for each thread that decodes.
constexpr int64_t kDecodedBytesPerByte = 64;
constexpr int64_t kDecodedBytesPerJsonByte = 80;

// Erased texts of an attention map share passes of this many tokens.
constexpr int64_t kErasureBatchTokens = 1024;

// Libraries, vocabulary, threads' stacks, and what the allocator has free but cannot use.
constexpr int64_t kProgramBytes = 48 * kMiB;

// 8,192 spans at most, of up to 512 bytes of tracestate each, and a message of them.
constexpr int64_t kWaitingSpansBytes = 16 * kMiB;

// gRPC has so many threads for reactions, whatever the control group allows.
int64_t GrpcThreads() {
  return std::clamp<int64_t>(std::thread::hardware_concurrency() / 2, 2, 16);
}

// Of the precision that `options` ask for, or of the one that is chosen between.
struct PrecisionBytes {
  int64_t serving;   // at most
  int64_t compared;  // with that, before it serves
};

PrecisionBytes WeightBytes(const ModelConfig& model, const ServerOptions& options) {
  const int64_t f32 = Encoder::WeightBytes(model, Precision::kF32);
  if (options.precision == "f32") return {f32, 0};
  if (options.precision == "int8") return {Encoder::WeightBytes(model, Precision::kInt8), f32};
  const int64_t bf16 = Encoder::WeightBytes(model, Precision::kBf16);
  if (options.precision == "bf16") return {bf16, f32};
  return {f32, bf16};
}

int64_t ActivationBytes(const ModelConfig& model, const ServerOptions& options) {
  const int64_t seq = std::min(options.max_input_tokens, model.max_positions);
  // Two texts that are compared share a pass.
  const int64_t tokens = std::max({options.max_batch_tokens, 2 * seq, kErasureBatchTokens});
  return options.threads * Encoder::ActivationBytes(model, tokens, seq);
}

// What only calls that a model serves take; others are refused, but have been decoded.
int64_t WhileServing(const MemoryPlan& plan) {
  return plan.queue + plan.tokenizing + plan.calls + plan.attention_maps;
}

}  // namespace

std::vector<MemoryPlan::Term> MemoryPlan::terms() const {
  return {{"weights", weights},
          {"activations", activations},
          {"queue", queue},
          {"tokenizing", tokenizing},
          {"calls", calls},
          {"attention_maps", attention_maps},
          {"grpc_decoding", grpc_decoding},
          {"http_decoding", http_decoding},
          {"grpc_buffers", grpc_buffers},
          {"traces", traces},
          {"program", program},
          {"other_model", other_model},
          {"comparison", comparison}};
}

int64_t MemoryPlan::total() const {
  int64_t total = 0;
  for (const Term& term : terms()) total += term.bytes;
  return total;
}

std::string MemoryPlan::ToString() const {
  std::string text;
  for (const Term& term : terms()) absl::StrAppend(&text, term.name, " ", term.bytes, ", ");
  return absl::StrCat(text, "total ", total());
}

MemoryPlan PlanMemory(const ModelConfig& model, const ServerOptions& options, int64_t other_model) {
  const int64_t message = options.max_message_bytes;
  const PrecisionBytes weights = WeightBytes(model, options);
  MemoryPlan plan;
  plan.weights = weights.serving;
  plan.activations = ActivationBytes(model, options);
  plan.queue =
      options.max_queue_tokens * kQueuedTokenBytes + options.max_queue_items * kQueuedItemBytes;
  plan.tokenizing = options.tokenizer_threads * kTokenizedBytesPerByte * message;
  plan.calls = options.calls_budget_bytes;
  plan.attention_maps = options.attention_budget_bytes;
  plan.grpc_decoding = GrpcThreads() * kDecodedBytesPerByte * message;
  if (options.http_address != "off") {
    // Every thread may have a body, and one of them decodes.
    plan.http_decoding = (options.http_threads + kDecodedBytesPerJsonByte) * message;
  }
  plan.grpc_buffers = options.grpc_memory_quota_bytes;
  if (!options.otlp_endpoint.empty()) plan.traces = kWaitingSpansBytes;
  plan.program = kProgramBytes;
  plan.other_model = other_model;
  plan.comparison = weights.compared;
  if (other_model == 0) {
    plan.comparison = std::max<int64_t>(0, plan.comparison - WhileServing(plan));
  }
  return plan;
}

}  // namespace attune
