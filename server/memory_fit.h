// Making the server fit the memory that it is given.
#ifndef ATTUNE_SERVER_MEMORY_FIT_H_
#define ATTUNE_SERVER_MEMORY_FIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/model/config.h"
#include "server/cpu_budget.h"
#include "server/memory_plan.h"
#include "server/server_options.h"

namespace attune {

// What may be planned of a memory limit: a fifth is for what no plan knows.
int64_t UsableBytes(int64_t limit_bytes);

// kFailedPrecondition with all terms if there is a limit and `plan` does not fit.
absl::Status CheckFits(const MemoryPlan& plan, std::optional<int64_t> limit_bytes);

// Makes the plan fit the limit: budgets that no flag set shrink, each to its floor before the next
// one shrinks at all, in the order attention-budget, calls-budget, max-queue-tokens,
// grpc-memory-quota, max-message-bytes. Returns the flags of those that shrank. Errors as
// CheckFits, if even the floors do not fit. REQUIRES: nothing is left to be chosen in `options`.
absl::StatusOr<std::vector<std::string>> ShrinkToFit(const ModelConfig& model, int64_t limit_bytes,
                                                     ServerOptions& options);

// How a server that is about to start will use memory.
struct MemoryFit {
  // As given, but for budgets that shrank.
  ServerOptions options;
  std::vector<std::string> shrunk;
  // --memory-limit or the control group's limit, whichever is smaller; nothing without either.
  std::optional<int64_t> limit_bytes;
  MemoryPlan plan;
};

// Reads the model folder's configuration. Errors as ReadModelFolder and ShrinkToFit.
absl::StatusOr<MemoryFit> FitMemory(const ServerOptions& options, const CpuBudget& cpus);

// The plan for the time when the model folder, as it is now, is loaded beside a model planned as
// `now`. Nothing shrinks: errors as ReadModelFolder and CheckFits.
absl::StatusOr<MemoryPlan> PlanReload(const ServerOptions& options, const CpuBudget& cpus,
                                      const MemoryPlan& now, std::optional<int64_t> limit_bytes);

}  // namespace attune

#endif  // ATTUNE_SERVER_MEMORY_FIT_H_
