#include "client/cli/matrix_text.h"

#include <vector>

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MatrixTextTest, WritesNumbersForPeople) {
  EXPECT_EQ(FormatNumber(11), "11");
  EXPECT_EQ(FormatNumber(0.422319), "0.4223");
  EXPECT_EQ(FormatNumber(-0.5), "-0.5");
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(6.0337e-6), "6.034e-06");
  EXPECT_EQ(FormatNumber(12345678), "1.235e+07");
}

TEST(MatrixTextTest, AlignsColumnsUnderTheTitle) {
  EXPECT_EQ(MatrixText("Q", std::vector<float>{1, 20, 0.5f, -3}, 2, 2, 80),
            "Q  [2 x 2]\n"
            "    1  20\n"
            "  0.5  -3\n");
}

TEST(MatrixTextTest, SaysWhatItLeavesOut) {
  const std::vector<float> values(20 * 30, 1.0f);
  EXPECT_THAT(MatrixText("V", values, 20, 30, 80), HasSubstr("first 12 rows, first 6 columns"));
  EXPECT_THAT(MatrixText("V", std::vector<float>(6 * 6), 6, 6, 80), Not(HasSubstr("first")));
}

}  // namespace
}  // namespace attune::cli
