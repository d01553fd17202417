// EXPECT_THAT(status, IsOk()), IsOkAndHolds(matcher), StatusIs(code, message matcher), for
// absl::Status and absl::StatusOr.
#ifndef ATTUNE_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define ATTUNE_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace attune::testing {

inline const absl::Status& ToStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << ToStatus(arg).ToString();
  return ToStatus(arg).ok();
}

MATCHER_P(IsOkAndHolds, value, "is OK and holds a value") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

MATCHER_P2(StatusIs, code, message,
           "has code " + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message)) {
  *result_listener << ToStatus(arg).ToString();
  return ToStatus(arg).code() == code && ::testing::Matches(::testing::Matcher<std::string>(
                                             message))(std::string(ToStatus(arg).message()));
}

}  // namespace attune::testing

// Evaluates to the value; fails the test with the status otherwise.
#define ATTUNE_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ATTUNE_ASSERT_OK_AND_ASSIGN_IMPL_(ATTUNE_TEST_CONCAT_(result_, __LINE__), lhs, expr)
#define ATTUNE_TEST_CONCAT_INNER_(a, b) a##b
#define ATTUNE_TEST_CONCAT_(a, b) ATTUNE_TEST_CONCAT_INNER_(a, b)
#define ATTUNE_ASSERT_OK_AND_ASSIGN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                      \
  ASSERT_TRUE(result.ok()) << result.status();               \
  lhs = *std::move(result)

#endif  // ATTUNE_TESTS_SUPPORT_STATUS_MATCHERS_H_
