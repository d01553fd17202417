#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace attune::cli {
namespace {

class HealthCommand : public Command {
 public:
  explicit HealthCommand(CLI::App& parent)
      : Command(parent, "health", "Say whether the server is ready; exit 0 only if it is SERVING",
                "Examples:\n"
                "  attune health                      # now\n"
                "  attune health --wait 60            # as soon as it is, within a minute\n"
                "  attune health --service liveness   # whether the process is alive at all") {
    flags().Add("--service", service_, "\"\" (the server), attune.v1.EncoderService, or liveness");
    wait_flag_ = flags()
                     .AddDuration("--wait", wait_,
                                  "Wait this long for SERVING; the server need not be up yet")
                     .Default("");
  }

  absl::Status Run() override {
    const auto client = Connect();
    if (!client.ok()) return client.status();
    if (wait_flag_->given()) {
      absl::Status status = (*client)->WaitUntilServing(wait_, service_);
      if (status.ok()) return Print("SERVING\n");
      // It is the server that is late, not a call.
      return absl::IsDeadlineExceeded(status) ? absl::UnavailableError(status.message()) : status;
    }
    const absl::StatusOr<HealthState> state = (*client)->CheckHealth(service_);
    if (!state.ok()) return state.status();
    const std::string name = grpc::health::v1::HealthCheckResponse::ServingStatus_Name(*state);
    if (absl::Status status = Print(absl::StrCat(name, "\n")); !status.ok()) return status;
    if (*state == grpc::health::v1::HealthCheckResponse::SERVING) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("the server is ", name,
                                               ": it is loading, draining, "
                                               "or failed to load its model"));
  }

 private:
  std::string service_;
  absl::Duration wait_ = absl::Seconds(30);
  std::optional<Flag> wait_flag_;
};

}  // namespace

std::unique_ptr<Command> MakeHealthCommand(CLI::App& parent) {
  return std::make_unique<HealthCommand>(parent);
}

}  // namespace attune::cli
