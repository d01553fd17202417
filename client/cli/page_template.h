#ifndef ATTUNE_CLIENT_CLI_PAGE_TEMPLATE_H_
#define ATTUNE_CLIENT_CLI_PAGE_TEMPLATE_H_

#include "absl/strings/string_view.h"

namespace attune::cli {

// The HTML page that `export-html` fills in: {{title}}, {{text}}, {{facts}}, {{attune}} and
// {{bertviz}} stand for what is put there. Made at build time from page/ and the dashboard's
// viewer.
absl::string_view PageTemplate();

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_PAGE_TEMPLATE_H_
