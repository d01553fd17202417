#include "engine/quality/encode_texts.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::StatusIs;
using ::attune::testing::TinyModel;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class EncodeTextsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ATTUNE_ASSERT_OK_AND_ASSIGN(engine_, Engine::Load(model_.path()));
    for (int i = 0; i < 100; ++i) {
      std::string text = "the";
      for (int word = 0; word < i; ++word) text += word % 3 == 0 ? " cat" : " mat";
      texts_.push_back(text);  // the last ones are longer than the model's 64 tokens
    }
  }

  const TinyModel model_;
  std::shared_ptr<const Engine> engine_;
  std::vector<std::string> texts_;
};

TEST_F(EncodeTextsTest, EachVectorIsThatOfTheTextAlone) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix all, EncodeTexts(engine_, texts_, {}));
  ASSERT_EQ(all.rows(), 100);
  for (const size_t i : {0, 1, 57, 99}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix alone, EncodeTexts(engine_, {&texts_[i], 1}, {}));
    EXPECT_THAT(all.row(static_cast<int64_t>(i)), ElementsAreArray(alone.row(0)));
  }
}

TEST_F(EncodeTextsTest, ThreadsChangeNoBit) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix one, EncodeTexts(engine_, texts_, {}));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix three, EncodeTexts(engine_, texts_, {.threads = 3}));
  EXPECT_THAT(three.span(), ElementsAreArray(one.span()));
}

TEST_F(EncodeTextsTest, ProgressEndsAtTheLastText) {
  std::vector<int64_t> seen;
  EncodeTextsOptions options;
  options.threads = 2;
  options.on_progress = [&seen](int64_t done) { seen.push_back(done); };
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix vectors, EncodeTexts(engine_, texts_, options));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 100);
}

TEST_F(EncodeTextsTest, NamesTheTextThatIsNotUtf8) {
  texts_[4] = "\xff";
  EXPECT_THAT(EncodeTexts(engine_, texts_, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text 5: ")));
}

}  // namespace
}  // namespace attune
