// A program that was built without OTLP says so where it is asked for it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsNull;

TEST(NoTraceExporterTest, AnEndpointStopsTheStart) {
  ServerOptions options;
  options.model = "unread";
  options.otlp_endpoint = "http://127.0.0.1:4317";
  EXPECT_THAT(Server::Bind(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("built without ATTUNE_OTLP")));
}

TEST(NoTraceExporterTest, WithoutAnEndpointThereIsNothingToRefuse) {
  const auto opened = OpenTraceExporter("");
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(*opened, IsNull());
}

}  // namespace
}  // namespace attune
