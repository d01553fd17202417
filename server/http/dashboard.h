// The files of the page at "/", which are part of the program.
#ifndef ATTUNE_SERVER_HTTP_DASHBOARD_H_
#define ATTUNE_SERVER_HTTP_DASHBOARD_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune {

struct DashboardFile {
  absl::string_view path;  // "/" or "/style.css"
  absl::string_view content_type;
  absl::string_view bytes;
};

// All of them; immutable. Made at build time from server/dashboard.
absl::Span<const DashboardFile> DashboardFiles();

// The one at `path`, or null.
const DashboardFile* FindDashboardFile(absl::string_view path);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_DASHBOARD_H_
