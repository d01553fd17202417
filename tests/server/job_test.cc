#include "server/job.h"

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/numeric.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Copy;
using ::attune::testing::SameBits;
using ::attune::testing::TinyModel;

// One text of `tokens` tokens; keeps the rows it is given.
class RowsJob final : public Job {
 public:
  RowsJob(TextRows rows, int64_t tokens)
      : Job(std::make_shared<Call>(absl::InfiniteFuture())), rows_(rows), tokens_(tokens) {}

  bool runs_alone() const override { return false; }
  TextRows rows_wanted() const override { return rows_; }
  void AppendTo(int64_t, Batch& batch) const override {
    batch.Append(std::vector<int32_t>(static_cast<size_t>(tokens_), 7), {});
  }
  void Finish(int64_t, ConstMatrixView hidden) override { hidden_ = Copy(hidden); }
  void Fail(int64_t, absl::Status status) override { FAIL() << status; }

  int64_t tokens() const { return tokens_; }
  ConstMatrixView hidden() const { return hidden_.view(); }

 private:
  const TextRows rows_;
  const int64_t tokens_;
  Matrix hidden_;
};

class RunItemsTest : public ::testing::Test {
 protected:
  void SetUp() override { ATTUNE_ASSERT_OK_AND_ASSIGN(engine_, Engine::Load(model_.path())); }

  void Run(const std::vector<std::shared_ptr<RowsJob>>& jobs) {
    Session session(engine_, 64);
    std::vector<WorkItem> items;
    for (const auto& job : jobs) items.push_back({job, 0, job->tokens()});
    RunItems(session, std::move(items));
  }

  const TinyModel model_;
  std::shared_ptr<const Engine> engine_;
};

TEST_F(RunItemsTest, ABatchOfOneWishGetsTheRowsItWants) {
  const auto whole = std::make_shared<RowsJob>(TextRows::kAll, 9);
  Run({whole});
  ASSERT_EQ(whole->hidden().rows, 9);
  for (const TextRows rows : {TextRows::kFirst, TextRows::kLast}) {
    const auto other = std::make_shared<RowsJob>(rows, 5);
    const auto job = std::make_shared<RowsJob>(rows, 9);
    Run({other, job});
    const int64_t row = rows == TextRows::kFirst ? 0 : 8;
    EXPECT_THAT(job->hidden(), SameBits(whole->hidden().Rows(row, row + 1)));
  }
}

TEST_F(RunItemsTest, ABatchOfManyWishesGetsEveryRow) {
  const auto first = std::make_shared<RowsJob>(TextRows::kFirst, 5);
  const auto last = std::make_shared<RowsJob>(TextRows::kLast, 9);
  Run({first, last});
  EXPECT_EQ(first->hidden().rows, 5);
  EXPECT_EQ(last->hidden().rows, 9);
}

}  // namespace
}  // namespace attune
