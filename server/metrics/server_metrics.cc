#include "server/metrics/server_metrics.h"

namespace attune {
namespace {

prometheus::Labels LabelsOf(const ModelLabels& model) {
  return {{"name", model.name},
          {"version", model.version},
          {"dtype", model.dtype},
          {"isa", model.isa},
          {"sha256", model.sha256}};
}

}  // namespace

ServerMetrics::ServerMetrics(prometheus::Registry& registry) {
  const auto gauge = [&registry](const char* name, const char* help) {
    return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  };
  const auto counter = [&registry](const char* name, const char* help) {
    return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  };
  ready_ = gauge("attune_ready", "1 while the server takes requests, as /readyz says");
  memory_budget_bytes_ = gauge("attune_memory_budget_bytes",
                               "The most memory that the server plans to use; 0 without a plan");
  tls_cert_expiry_ = gauge("attune_tls_cert_expiry_timestamp_seconds",
                           "When the certificate in use ends, as a Unix time; 0 without TLS");
  tls_reload_failures_ = counter("attune_tls_reload_failures_total",
                                 "Changed certificates that could not be taken into use");
  auth_failures_ =
      counter("attune_auth_failures_total", "Calls without a valid token, where one is needed");
  prometheus::BuildGauge()
      .Name("attune_build_info")
      .Help("1; the labels say which build this is")
      .Register(registry)
      .Add({{"version", ATTUNE_VERSION}, {"revision", ATTUNE_REVISION}})
      .Set(1);
  model_info_ = &prometheus::BuildGauge()
                     .Name("attune_model_info")
                     .Help("1; the labels say which model is served")
                     .Register(registry);
  model_ = &model_info_->Add(LabelsOf({}));
}

void ServerMetrics::SetGuard(const GuardCounts& counts) {
  const auto set = [](prometheus::Counter& counter, int64_t value) {
    counter.Increment(static_cast<double>(value) - counter.Value());
  };
  set(*auth_failures_, counts.auth_failures);
  set(*tls_reload_failures_, counts.tls_reload_failures);
  if (!counts.certificate_expiry.has_value()) return;
  tls_cert_expiry_->Set(static_cast<double>(absl::ToUnixSeconds(*counts.certificate_expiry)));
}

void ServerMetrics::SetModel(const ModelLabels& model) {
  MutexLock lock(mu_);
  model_info_->Remove(model_);
  model_ = &model_info_->Add(LabelsOf(model));
  model_->Set(1);
}

}  // namespace attune
