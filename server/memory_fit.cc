#include "server/memory_fit.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "engine/model/model_folder.h"
#include "server/cgroup.h"

namespace attune {
namespace {

// Floors of the budgets that shrink.
constexpr int64_t kLeastAttentionBudget = int64_t{4} << 20;
constexpr int64_t kLeastGrpcBuffers = int64_t{32} << 20;
constexpr int64_t kLeastMessageBytes = int64_t{256} << 10;

bool Contains(const std::vector<std::string>& flags, absl::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// A budget that may shrink.
struct Budget {
  absl::string_view flag;
  int64_t ServerOptions::*bytes;
  int64_t floor;
};

// In the order in which they shrink.
std::vector<Budget> Budgets(const ServerOptions& options) {
  const bool fixed_reply = options.set_flags.contains("max-attention-reply");
  return {
      {"attention-budget", &ServerOptions::attention_budget_bytes,
       fixed_reply ? options.max_attention_reply_bytes : kLeastAttentionBudget},
      {"calls-budget", &ServerOptions::calls_budget_bytes, LargestCallBytes(options)},
      {"max-queue-tokens", &ServerOptions::max_queue_tokens, LargestRequestTokens(options)},
      {"grpc-memory-quota", &ServerOptions::grpc_memory_quota_bytes, kLeastGrpcBuffers},
      {"max-message-bytes", &ServerOptions::max_message_bytes, kLeastMessageBytes},
  };
}

// `options` with `budget` at `value`, and with what must not exceed it.
ServerOptions With(ServerOptions options, const Budget& budget, int64_t value) {
  options.*budget.bytes = value;
  options.max_attention_reply_bytes =
      std::min(options.max_attention_reply_bytes, options.attention_budget_bytes);
  return options;
}

// The most of `budget` with which the plan is within `usable_bytes` or, if no value of it does
// that, as small as its floor makes it.
int64_t MostThatFits(const ModelConfig& model, const ServerOptions& options, const Budget& budget,
                     int64_t usable_bytes) {
  const auto planned = [&](int64_t value) {
    return PlanMemory(model, With(options, budget, value)).total();
  };
  const int64_t goal = std::max(usable_bytes, planned(budget.floor));
  int64_t fits = budget.floor;
  int64_t too_much = options.*budget.bytes + 1;
  while (too_much - fits > 1) {
    const int64_t middle = fits + (too_much - fits) / 2;
    (planned(middle) <= goal ? fits : too_much) = middle;
  }
  return fits;
}

// `options` with everything chosen as for this model.
ServerOptions Resolve(ServerOptions options, const ModelFolder& folder, const CpuBudget& cpus) {
  if (options.threads == 0) options.threads = cpus.threads();
  if (options.max_input_tokens == 0) options.max_input_tokens = folder.max_tokens;
  ChooseQueueLimits(options);
  return options;
}

std::optional<int64_t> MemoryLimit(const ServerOptions& options) {
  const std::optional<int64_t> limit = ReadCgroupMemoryLimit(/*root=*/"");
  const int64_t flag = options.memory_limit_bytes;
  return flag > 0 ? std::min(flag, limit.value_or(flag)) : limit;
}

}  // namespace

int64_t UsableBytes(int64_t limit_bytes) { return limit_bytes / 5 * 4; }

absl::Status CheckFits(const MemoryPlan& plan, std::optional<int64_t> limit_bytes) {
  if (!limit_bytes.has_value() || plan.total() <= UsableBytes(*limit_bytes)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the memory limit is ", *limit_bytes, " bytes, of which ", UsableBytes(*limit_bytes),
      " may be planned; at the least the server needs, in bytes: ", plan.ToString(),
      "; raise the limit, or lower what flags set"));
}

absl::StatusOr<std::vector<std::string>> ShrinkToFit(const ModelConfig& model, int64_t limit_bytes,
                                                     ServerOptions& options) {
  const int64_t usable = UsableBytes(limit_bytes);
  std::vector<std::string> shrunk;
  // Twice, since smaller messages lower the floors of what comes before.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < Budgets(options).size(); ++i) {
      if (PlanMemory(model, options).total() <= usable) return shrunk;
      const Budget budget = Budgets(options)[i];
      if (options.set_flags.contains(budget.flag) || options.*budget.bytes <= budget.floor) {
        continue;
      }
      const int64_t most = MostThatFits(model, options, budget, usable);
      if (most == options.*budget.bytes) continue;
      options = With(options, budget, most);
      if (!Contains(shrunk, budget.flag)) shrunk.emplace_back(budget.flag);
    }
  }
  ATTUNE_RETURN_IF_ERROR(CheckFits(PlanMemory(model, options), limit_bytes));
  return shrunk;
}

absl::StatusOr<MemoryFit> FitMemory(const ServerOptions& options, const CpuBudget& cpus) {
  ATTUNE_ASSIGN_OR_RETURN(const ModelFolder folder, ReadModelFolder(options.model));
  ServerOptions resolved = Resolve(options, folder, cpus);
  MemoryFit fit;
  fit.limit_bytes = MemoryLimit(options);
  if (fit.limit_bytes.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(fit.shrunk, ShrinkToFit(folder.config, *fit.limit_bytes, resolved));
  }
  fit.plan = PlanMemory(folder.config, resolved);
  fit.options = options;
  // Another model may have other limits, so what was left to be chosen is left so.
  for (const Budget& budget : Budgets(resolved)) {
    if (!Contains(fit.shrunk, budget.flag)) continue;
    fit.options = With(fit.options, budget, resolved.*budget.bytes);
  }
  return fit;
}

absl::StatusOr<MemoryPlan> PlanReload(const ServerOptions& options, const CpuBudget& cpus,
                                      const MemoryPlan& now, std::optional<int64_t> limit_bytes) {
  ATTUNE_ASSIGN_OR_RETURN(const ModelFolder folder, ReadModelFolder(options.model));
  const MemoryPlan plan = PlanMemory(folder.config, Resolve(options, folder, cpus), now.of_model());
  ATTUNE_RETURN_IF_ERROR(CheckFits(plan, limit_bytes));
  return plan;
}

}  // namespace attune
