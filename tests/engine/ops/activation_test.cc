#include "engine/ops/activation.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ReferenceActivation;
using testing::StatusIs;

// What the header promises for kGelu up to |x| = 10. Four roundings at 10 are 2.4e-6, one
// is 4.8e-7; the fitted polynomial adds 1e-7.
constexpr double kTolerance = 2e-6;

float Apply(Activation activation, float x) {
  ApplyActivation(activation, absl::MakeSpan(&x, 1));
  return x;
}

class ActivationTest : public ::testing::TestWithParam<Activation> {};

TEST_P(ActivationTest, MatchesTheReferenceUpToTen) {
  std::vector<float> values;
  for (int i = -100000; i <= 100000; ++i) values.push_back(static_cast<float>(i) * 1e-4f);
  const std::vector<float> src = values;
  ApplyActivation(GetParam(), absl::MakeSpan(values));
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], ReferenceActivation(GetParam(), src[i]), kTolerance) << "x " << src[i];
  }
}

TEST_P(ActivationTest, LargeMagnitudesStayFinite) {
  for (const float x : {20.0f, 100.0f, 3000.0f, 1e6f}) {
    EXPECT_NEAR(Apply(GetParam(), x), x, x * 1e-6) << x;
    EXPECT_NEAR(Apply(GetParam(), -x), 0.0, 1e-4) << x;
  }
}

TEST_P(ActivationTest, NanStaysNan) { EXPECT_TRUE(std::isnan(Apply(GetParam(), std::nanf("")))); }

TEST_P(ActivationTest, AnElementsBitsDoNotDependOnItsPlace) {
  std::vector<float> values(67);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.37f * static_cast<float>(i) - 11.0f;
  std::vector<float> all = values;
  ApplyActivation(GetParam(), absl::MakeSpan(all));
  for (size_t begin = 0; begin < values.size(); ++begin) {
    for (const size_t n : {size_t{1}, size_t{5}, size_t{17}, size_t{33}}) {
      if (begin + n > values.size()) continue;
      std::vector<float> part(values.data() + begin, values.data() + begin + n);
      ApplyActivation(GetParam(), absl::MakeSpan(part));
      EXPECT_EQ(std::memcmp(part.data(), all.data() + begin, n * sizeof(float)), 0);
    }
  }
}

TEST_P(ActivationTest, WritesOnlyTheGivenElements) {
  std::vector<float> values(40, -1.5f);
  ApplyActivation(GetParam(), absl::MakeSpan(values).subspan(3, 21));
  EXPECT_EQ(values[2], -1.5f);
  EXPECT_EQ(values[24], -1.5f);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         ::testing::Values(Activation::kGelu, Activation::kGeluTanh,
                                           Activation::kRelu, Activation::kSilu));

// C33: the erf form and the tanh form are different functions.
TEST(ActivationNameTest, GeluIsErfAndGeluNewIsTanh) {
  constexpr double kPrinted = 1e-6;  // expected values have seven decimals, f32 has as many
  EXPECT_NEAR(Apply(Activation::kGelu, 1.0f), 0.8413447, kPrinted);
  EXPECT_NEAR(Apply(Activation::kGeluTanh, 1.0f), 0.8411920, kPrinted);
  EXPECT_NEAR(Apply(Activation::kGelu, -2.7f), -0.0093608, kPrinted);
  EXPECT_NEAR(Apply(Activation::kGeluTanh, -2.7f), -0.0088876, kPrinted);
}

TEST(ActivationNameTest, KnowsTheNamesOfConfigFiles) {
  EXPECT_THAT(ParseActivation("gelu"), IsOkAndHolds(Activation::kGelu));
  EXPECT_THAT(ParseActivation("gelu_new"), IsOkAndHolds(Activation::kGeluTanh));
  EXPECT_THAT(ParseActivation("gelu_pytorch_tanh"), IsOkAndHolds(Activation::kGeluTanh));
  EXPECT_THAT(ParseActivation("relu"), IsOkAndHolds(Activation::kRelu));
  EXPECT_THAT(ParseActivation("silu"), IsOkAndHolds(Activation::kSilu));
  EXPECT_THAT(ParseActivation("swish"), IsOkAndHolds(Activation::kSilu));
}

TEST(ActivationNameTest, RefusesAnUnknownName) {
  EXPECT_THAT(ParseActivation("mish"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("\"mish\"")));
  EXPECT_THAT(ParseActivation(""), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("\"\"")));
}

}  // namespace
}  // namespace attune
