#include "server/grpc/health_service.h"

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <vector>

#include "server/grpc/reactor_order.h"

namespace attune {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

// One open Watch. gRPC allows one write at a time and one Finish; a state that changes while a
// write is out is remembered and sent when the write is done, and only the newest is.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& service, std::string name, State state)
      : service_(service), name_(std::move(name)) {
    Send(state);
    HandOver(this);
  }

  const std::string& name() const { return name_; }

  void Send(State state) {
    MutexLock lock(mu_);
    if (state == last_ && !wanted_.has_value()) return;
    wanted_ = state;
    Advance();
  }

  void End() {
    MutexLock lock(mu_);
    end_ = true;
    Advance();
  }

  void OnWriteDone(bool ok) override {
    TakeOver(this);
    MutexLock lock(mu_);
    writing_ = false;
    if (!ok) end_ = true;
    Advance();
  }

  void OnCancel() override {
    TakeOver(this);
    End();
  }

  void OnDone() override {
    TakeOver(this);
    service_.Forget(this);
    delete this;
  }

 private:
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || finished_) return;
    if (wanted_.has_value()) {
      last_ = *wanted_;
      wanted_.reset();
      message_.set_status(*last_);
      writing_ = true;
      StartWrite(&message_);
    } else if (end_) {
      finished_ = true;
      Finish(grpc::Status::OK);
    }
  }

  HealthService& service_;
  const std::string name_;

  Mutex mu_;
  HealthCheckResponse message_ ABSL_GUARDED_BY(mu_);
  std::optional<State> last_ ABSL_GUARDED_BY(mu_);
  std::optional<State> wanted_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool end_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

HealthService::HealthService()
    : states_{{kServer, HealthCheckResponse::NOT_SERVING},
              {kEncoderService, HealthCheckResponse::NOT_SERVING},
              {kLiveness, HealthCheckResponse::SERVING}} {
  HandOver(this);
}

HealthService::~HealthService() {
  MutexLock lock(mu_);
  while (!watchers_.empty()) watcher_gone_.Wait(mu_);
}

void HealthService::SetServing(bool serving) {
  const State state = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  MutexLock lock(mu_);
  for (auto& [name, current] : states_) {
    if (name != kLiveness) current = state;
  }
  for (Watcher* watcher : watchers_) watcher->Send(StateOf(watcher->name()));
}

void HealthService::EndWatches() {
  MutexLock lock(mu_);
  watches_ended_ = true;
  for (Watcher* watcher : watchers_) watcher->End();
}

HealthService::State HealthService::StateOf(const std::string& name) const {
  const auto found = states_.find(name);
  return found == states_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
}

void HealthService::Forget(Watcher* watcher) {
  MutexLock lock(mu_);
  watchers_.erase(watcher);
  watcher_gone_.NotifyAll();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  TakeOver(this);
  State state;
  {
    MutexLock lock(mu_);
    state = StateOf(request->service());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (state == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish({grpc::StatusCode::NOT_FOUND, "no service of that name"});
  } else {
    response->set_status(state);
    reactor->Finish(grpc::Status::OK);
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* /*context*/, const HealthCheckRequest* request) {
  TakeOver(this);
  MutexLock lock(mu_);
  auto* watcher = new Watcher(*this, request->service(), StateOf(request->service()));
  watchers_.insert(watcher);
  if (watches_ended_) watcher->End();
  return watcher;
}

grpc::ServerUnaryReactor* HealthService::List(grpc::CallbackServerContext* context,
                                              const HealthListRequest* /*request*/,
                                              HealthListResponse* response) {
  TakeOver(this);
  {
    MutexLock lock(mu_);
    for (const auto& [name, state] : states_) {
      (*response->mutable_statuses())[name].set_status(state);
    }
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace attune
