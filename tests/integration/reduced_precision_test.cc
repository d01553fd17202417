// A server in a reduced precision, on the default model: what it says about itself, and that a
// vector still depends on its own text alone.

#include "engine/ops/precision_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/default_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"

namespace attune {
namespace {

using ::attune::testing::DefaultModelPath;
using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::TempDir;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::WithDeadline;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class ReducedPrecisionServerTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const absl::Status supported = CheckPrecisionSupported(GetParam());
    if (!supported.ok()) GTEST_SKIP() << supported;
    ServerOptions options = TestOptions(DefaultModelPath());
    options.precision = std::string(PrecisionName(GetParam()));
    options.quality_cache = cache_.path();
    server_ = std::make_unique<TestServer>(options);
  }

  const TempDir cache_;
  std::unique_ptr<TestServer> server_;
};

TEST_P(ReducedPrecisionServerTest, SaysWhichPrecisionRunsWhyAndHowGoodItIs) {
  v1::GetModelResponse model;
  const auto context = WithDeadline();
  ASSERT_THAT(server_->stub().GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
  EXPECT_EQ(model.precision(), PrecisionName(GetParam()));
  EXPECT_THAT(model.precision_reason(), HasSubstr("past the quality gate: mean cosine 0.99"));
  EXPECT_GE(model.quality().texts(), 256u);
  EXPECT_GT(model.quality().mean_cosine(), 0.99);
  EXPECT_GE(model.quality().mean_cosine(), model.quality().min_cosine());
  EXPECT_EQ(model.quality().neighbours(), 10u);

  v1::AttentionMapRequest request;
  request.mutable_query()->set_text("the cat");
  v1::AttentionMapResponse map;
  const auto map_context = WithDeadline();
  ASSERT_THAT(server_->stub().AttentionMap(map_context.get(), request, &map), IsGrpcOk());
  EXPECT_EQ(map.provenance().compute_dtype(), PrecisionName(GetParam()));
  EXPECT_EQ(map.provenance().kernels(), model.kernels());
}

// C36: a scale over the batch would make a vector depend on its neighbours.
TEST_P(ReducedPrecisionServerTest, AVectorDoesNotDependOnItsNeighboursBitForBit) {
  const std::string text = "A short text about a cat.";
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "the ship left the harbour ";
  longer.resize(1'000);
  // Rows that differ as much as text can make them.
  const std::string outlier = "!!!!!!!! 99999999999 \xe2\x88\x9e \xe2\x88\x9e \xe2\x88\x9e";
  const EncodeResult alone = Encode(server_->stub(), std::vector<std::string>{text});
  ASSERT_THAT(alone.status, IsGrpcOk());
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{text, longer}, std::vector<std::string>{outlier, text},
        std::vector<std::string>{longer, outlier, text, longer, text}}) {
    const EncodeResult together = Encode(server_->stub(), texts);
    ASSERT_THAT(together.status, IsGrpcOk());
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i] != text) continue;
      EXPECT_THAT(together.response.embeddings(static_cast<int>(i)).values(),
                  ElementsAreArray(alone.response.embeddings(0).values()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReducedPrecisionServerTest,
                         ::testing::Values(Precision::kBf16, Precision::kInt8),
                         [](const auto& test) { return std::string(PrecisionName(test.param)); });

}  // namespace
}  // namespace attune
