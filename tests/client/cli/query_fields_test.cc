#include "client/cli/query_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "attune/v1/attune.pb.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::StartsWith;

TEST(QueryFieldsTest, NamesTheFlagAndKeepsTheRest) {
  EXPECT_THAT(WithFlagNames(absl::InvalidArgumentError(
                  "query.specials_axes: KEYS needs query.specials; query.text_pair has two")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--specials-axes: KEYS needs --specials; --pair has two"));
  EXPECT_THAT(WithFlagNames(absl::OkStatus()), IsOk());
}

TEST(QueryFieldsTest, HasAFlagForEveryFieldButTheInputsThatNoFlagSets) {
  const google::protobuf::Descriptor& query = *v1::AttentionQuery::descriptor();
  for (int i = 0; i < query.field_count(); ++i) {
    const std::string& field = query.field(i)->name();
    if (field == "vectors" || field == "text") continue;
    const absl::Status status = WithFlagNames(absl::InternalError(absl::StrCat("query.", field)));
    EXPECT_THAT(std::string(status.message()), StartsWith("--")) << field;
  }
}

}  // namespace
}  // namespace attune::cli
