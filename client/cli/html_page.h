// The page that `export-html` writes.
#ifndef ATTUNE_CLIENT_CLI_HTML_PAGE_H_
#define ATTUNE_CLIENT_CLI_HTML_PAGE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"

namespace attune::cli {

// Beyond this browsers take long to open a page, and mail and wikis refuse it.
inline constexpr size_t kMaxHtmlPageBytes = size_t{32} << 20;

// kInvalidArgument saying how large the page would be, and what to leave out, if a map of this
// shape cannot fit whatever its text: for the header of a stream, before its layers come.
absl::Status CheckFitsHtmlPage(const v1::AttentionMapResponse& header);

// One HTML file, which loads nothing, of `map` [layers, heads, n, n] with its data. `query` is what
// was asked; the texts in it may be anything, and are never HTML. With `bertviz` the same map in
// BertViz' form is in the page. kInvalidArgument as above if it would be too large; kInternal if
// the reply is not such a map.
absl::StatusOr<std::string> MakeHtmlPage(const v1::AttentionQuery& query,
                                         const v1::AttentionMapResponse& map, bool bertviz);

// `text` so that HTML shows it as it is.
std::string EscapeHtml(absl::string_view text);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_HTML_PAGE_H_
