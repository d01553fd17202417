#ifndef ATTUNE_SERVER_MEMORY_BUDGETS_H_
#define ATTUNE_SERVER_MEMORY_BUDGETS_H_

#include "server/byte_budget.h"
#include "server/server_options.h"

namespace attune {

// Memory that all calls of a server share, whichever model answers them. Thread-safe.
struct MemoryBudgets {
  explicit MemoryBudgets(const ServerOptions& options)
      : calls(options.calls_budget_bytes,
              {ErrorReason::kCallsBudgetFull, "calls-budget", "other calls under way"}),
        attention_maps(options.attention_budget_bytes,
                       {ErrorReason::kAttentionBudgetFull, "attention-budget",
                        "attention maps of other requests"}) {}

  ByteBudget calls;           // messages, from when they are read until they are answered
  ByteBudget attention_maps;  // while they are made
};

}  // namespace attune

#endif  // ATTUNE_SERVER_MEMORY_BUDGETS_H_
