// Statistics of heads, in each format of `heads`.
#ifndef ATTUNE_CLIENT_CLI_HEAD_TABLE_H_
#define ATTUNE_CLIENT_CLI_HEAD_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"
#include "client/cli/json.h"

namespace attune::cli {

using HeadSummaries = google::protobuf::RepeatedPtrField<v1::HeadSummary>;

// The fields of HeadSummary that are numbers, by which heads can be sorted: "layer", "self_mass"
// ...
std::vector<std::string> HeadFieldNames();

// Largest first; layer and head ascending, which also orders what is equal. REQUIRES: `field` is
// one of HeadFieldNames.
void SortHeads(absl::string_view field, HeadSummaries& heads);

// The numbers that fit 80 columns, with the label of each head.
std::string HeadTable(const HeadSummaries& heads);
// Every field: a head a line under a line of names, comma-separated.
std::string HeadCsv(const HeadSummaries& heads);
// Every field: an array of objects.
Json HeadsToJson(const HeadSummaries& heads);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_HEAD_TABLE_H_
