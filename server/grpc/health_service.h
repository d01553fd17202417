#ifndef ATTUNE_SERVER_GRPC_HEALTH_SERVICE_H_
#define ATTUNE_SERVER_GRPC_HEALTH_SERVICE_H_

#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "engine/base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace attune {

// grpc.health.v1.Health. gRPC's own implementation is SERVING as soon as the port opens, is not
// seen by reflection, and lets an open Watch hold up a shutdown; this one does none of these.
// Thread-safe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using State = grpc::health::v1::HealthCheckResponse::ServingStatus;

  // The server as a whole, its service, and the process itself.
  static constexpr char kServer[] = "";
  static constexpr char kEncoderService[] = "attune.v1.EncoderService";
  static constexpr char kLiveness[] = "liveness";

  // All names NOT_SERVING, but liveness SERVING.
  HealthService();
  // REQUIRES: no watcher is left.
  ~HealthService() override;

  // Whether requests are served: every name but liveness. Tells the watchers.
  void SetServing(bool serving);

  // Ends every Watch with OK, and those that come later.
  void EndWatches();

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::health::v1::HealthListRequest* request,
                                 grpc::health::v1::HealthListResponse* response) override;

 private:
  class Watcher;

  // SERVICE_UNKNOWN for a name that does not exist.
  State StateOf(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Forget(Watcher* watcher);

  mutable Mutex mu_;
  CondVar watcher_gone_;
  std::map<std::string, State> states_ ABSL_GUARDED_BY(mu_);
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mu_);
  bool watches_ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_HEALTH_SERVICE_H_
