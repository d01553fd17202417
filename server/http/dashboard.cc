#include "server/http/dashboard.h"

namespace attune {

const DashboardFile* FindDashboardFile(absl::string_view path) {
  for (const DashboardFile& file : DashboardFiles()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace attune
