#include "server/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

namespace attune {

void Metrics::SetLoadSource(std::function<WorkLoad()> source) {
  MutexLock lock(mu_);
  load_source_ = std::move(source);
}

void Metrics::SetGuardSource(std::function<GuardCounts()> source) {
  MutexLock lock(mu_);
  guard_source_ = std::move(source);
}

std::string Metrics::Text() {
  {
    MutexLock lock(mu_);
    work_.SetLoad(load_source_ == nullptr ? WorkLoad() : load_source_());
    if (guard_source_ != nullptr) server_.SetGuard(guard_source_());
  }
  process_.Update(ReadProcess());
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, registry_.Collect());
  return std::move(text).str();
}

}  // namespace attune
