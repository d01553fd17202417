#include "server/check_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "server/cpu_budget.h"
#include "server/memory_budgets.h"
#include "server/memory_fit.h"
#include "server/security/port_guard.h"
#include "server/served_model.h"
#include "server/tracing/trace_exporter.h"

namespace attune {
namespace {

Json Summary(const ServedModel& model) {
  const ModelInfo& info = model.info();
  const ServerOptions& options = model.options();
  Json summary = Json::object();
  summary["model"] = info.name;
  summary["revision"] = info.revision;
  summary["dimension"] = info.dimension;
  summary["precision"] = std::string(PrecisionName(info.precision.precision));
  summary["kernels"] = info.kernels;
  summary["isa"] = info.isa;
  summary["threads"] = model.threads();
  summary["max_input_tokens"] = options.max_input_tokens;
  summary["trained_max_tokens"] = info.trained_max_tokens;
  summary["max_queue_tokens"] = options.max_queue_tokens;
  summary["max_queue_items"] = options.max_queue_items;
  summary["max_texts"] = options.max_texts;
  summary["max_message_bytes"] = options.max_message_bytes;
  summary["load_seconds"] = absl::ToDoubleSeconds(model.load_time());
  return summary;
}

void AddMemory(const MemoryFit& fit, Json& summary) {
  for (const MemoryPlan::Term& term : fit.plan.terms()) {
    summary[absl::StrCat("memory_", term.name, "_bytes")] = term.bytes;
  }
  summary["memory_total_bytes"] = fit.plan.total();
  summary["memory_limit_bytes"] = fit.limit_bytes.value_or(0);
  summary["memory_shrunk"] = absl::StrJoin(fit.shrunk, " ");
}

void PrintTable(const Json& summary) {
  for (const auto& [name, value] : summary.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : DumpJson(value);
    std::printf("%-27s %s\n", name.c_str(), text.c_str());
  }
}

}  // namespace

absl::Status CheckStart(const ServerOptions& options, bool json) {
  ATTUNE_RETURN_IF_ERROR(Validate(options));
  ATTUNE_RETURN_IF_ERROR(OpenPortGuard(options).status());
  ATTUNE_RETURN_IF_ERROR(OpenTraceExporter(options.otlp_endpoint).status());
  const CpuBudget cpus = ReadCpuBudget();
  ATTUNE_ASSIGN_OR_RETURN(const MemoryFit fit, FitMemory(options, cpus));
  MemoryBudgets budgets(fit.options);
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ServedModel> model,
                          ServedModel::Load(fit.options, cpus, budgets, /*metrics=*/nullptr));
  Json summary = Summary(*model);
  AddMemory(fit, summary);
  if (json) {
    std::puts(summary.dump(2).c_str());
  } else {
    PrintTable(summary);
  }
  return absl::OkStatus();
}

}  // namespace attune
