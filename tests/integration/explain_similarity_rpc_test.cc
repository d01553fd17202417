// ExplainSimilarity through a running server: the shares are those of Encode's own vectors.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::ElementsAre;

constexpr size_t kHidden = 16;
// Half a spacing of f32 at 1.
constexpr double kRounding = 0x1p-24;

struct Explanation {
  grpc::Status status;
  v1::ExplainSimilarityResponse response;

  double Sum() const {
    double sum = 0;
    for (const float share : response.contributions().values()) sum += share;
    return sum;
  }
  double AbsoluteSum() const {
    double sum = 0;
    for (const float share : response.contributions().values()) sum += std::fabs(share);
    return sum;
  }
};

Explanation Explain(TestServer& server, const v1::ExplainSimilarityRequest& request) {
  Explanation explanation;
  const auto context = WithDeadline();
  explanation.status =
      server.stub().ExplainSimilarity(context.get(), request, &explanation.response);
  return explanation;
}

Explanation Explain(TestServer& server, const std::string& first, const std::string& second) {
  v1::ExplainSimilarityRequest request;
  request.set_first(first);
  request.set_second(second);
  return Explain(server, request);
}

// The vector of a text, or with POOLING_NONE its tokens' vectors.
std::vector<float> Vector(TestServer& server, const std::string& text,
                          v1::Pooling pooling = v1::POOLING_UNSPECIFIED) {
  v1::EncodeOptions options;
  options.set_pooling(pooling);
  const EncodeResult result = Encode(server.stub(), std::vector<std::string>{text}, options);
  EXPECT_THAT(result.status, IsGrpcOk());
  const auto& values = result.response.embeddings(0).values();
  return {values.begin(), values.end()};
}

double Dot(absl::Span<const float> a, absl::Span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

double Cosine(absl::Span<const float> a, absl::Span<const float> b) {
  return Dot(a, b) / std::sqrt(Dot(a, a) * Dot(b, b));
}

// How far Encode's f32 mean of token vectors can be from the exact one, relative to its length:
// n additions and a scaling of values that cancel each other, and the scaling to length 1.
double MeanError(const std::vector<float>& tokens) {
  const size_t n = tokens.size() / kHidden;
  std::vector<double> mean(kHidden);
  double lengths = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto row = absl::MakeConstSpan(tokens).subspan(i * kHidden, kHidden);
    lengths += std::sqrt(Dot(row, row));
    for (size_t d = 0; d < kHidden; ++d) mean[d] += row[d];
  }
  double squares = 0;
  for (const double value : mean) squares += value * value;
  const double cancellation = lengths / std::sqrt(squares);
  return (static_cast<double>(n + 1) * cancellation + kHidden + 2) * kRounding;
}

class ExplainSimilarityTest : public ::testing::Test {
 protected:
  ExplainSimilarityTest() : server_(TestOptions(model_.path())) {}

  TinyModel model_;
  TestServer server_;
};

TEST_F(ExplainSimilarityTest, SharesAddUpToTheCosineOfEncodesVectors) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"the cat sat on the mat", "a dog ran"}, {"hello", "hello"}, {"", "the cat"}, {"", ""}};
  for (const auto& [first, second] : pairs) {
    const Explanation explanation = Explain(server_, first, second);
    ASSERT_THAT(explanation.status, IsGrpcOk());
    const double expected = Cosine(Vector(server_, first), Vector(server_, second));
    // A cosine moves by no more than the directions of both vectors do.
    const double tolerance = MeanError(Vector(server_, first, v1::POOLING_NONE)) +
                             MeanError(Vector(server_, second, v1::POOLING_NONE)) + kRounding;
    EXPECT_NEAR(explanation.response.cosine(), expected, tolerance);
    // Each share was rounded twice, the cosine once.
    EXPECT_NEAR(explanation.Sum(), explanation.response.cosine(),
                2 * kRounding * explanation.AbsoluteSum() + kRounding);
  }
}

TEST_F(ExplainSimilarityTest, EachShareIsThatOfItsTwoTokenVectors) {
  const std::vector<float> first = Vector(server_, "the cat sat", v1::POOLING_NONE);
  const std::vector<float> second = Vector(server_, "a dog", v1::POOLING_NONE);
  const size_t n = first.size() / kHidden;
  const size_t m = second.size() / kHidden;
  const auto token = [](const std::vector<float>& tokens, size_t i) {
    return absl::MakeConstSpan(tokens).subspan(i * kHidden, kHidden);
  };
  const auto squared_length_of_sum = [&](const std::vector<float>& tokens, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) sum += Dot(token(tokens, i), token(tokens, j));
    }
    return sum;
  };
  const double lengths =
      std::sqrt(squared_length_of_sum(first, n) * squared_length_of_sum(second, m));

  const Explanation explanation = Explain(server_, "the cat sat", "a dog");
  ASSERT_THAT(explanation.status, IsGrpcOk());
  const v1::Matrix& shares = explanation.response.contributions();
  ASSERT_EQ(shares.rows(), n);
  ASSERT_EQ(shares.cols(), m);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      const double expected = Dot(token(first, i), token(second, j)) / lengths;
      EXPECT_NEAR(shares.values(static_cast<int>(i * m + j)), expected,
                  2 * kRounding * std::fabs(expected) + 1e-12);
    }
  }
}

TEST_F(ExplainSimilarityTest, TellsTheTokensOfRowsAndColumns) {
  const Explanation explanation = Explain(server_, "the cats", "hello");
  ASSERT_THAT(explanation.status, IsGrpcOk());
  const auto texts = [](const auto& tokens) {
    std::vector<std::string> names;
    for (const v1::Token& token : tokens) names.push_back(token.text());
    return names;
  };
  EXPECT_THAT(texts(explanation.response.first_tokens()),
              ElementsAre("[CLS]", "the", "cat", "##s", "[SEP]"));
  EXPECT_THAT(texts(explanation.response.second_tokens()), ElementsAre("[CLS]", "hello", "[SEP]"));
  EXPECT_EQ(explanation.response.first_tokens(3).byte_begin(), 7u);
  EXPECT_TRUE(explanation.response.second_tokens(0).special());
  // The texts are read separately, so that both are first texts.
  EXPECT_EQ(explanation.response.second_tokens(1).segment(), 0u);
  EXPECT_EQ(explanation.response.provenance().compute_dtype(), "f32");
}

TEST_F(ExplainSimilarityTest, SwappingTheTextsTransposesTheShares) {
  const Explanation one = Explain(server_, "the cat sat", "a dog");
  const Explanation other = Explain(server_, "a dog", "the cat sat");
  ASSERT_THAT(one.status, IsGrpcOk());
  ASSERT_THAT(other.status, IsGrpcOk());
  const v1::Matrix& shares = one.response.contributions();
  const v1::Matrix& swapped = other.response.contributions();
  ASSERT_EQ(swapped.rows(), shares.cols());
  for (int i = 0; i < static_cast<int>(shares.rows()); ++i) {
    for (int j = 0; j < static_cast<int>(shares.cols()); ++j) {
      EXPECT_EQ(shares.values(i * static_cast<int>(shares.cols()) + j),
                swapped.values(j * static_cast<int>(shares.rows()) + i));
    }
  }
}

TEST_F(ExplainSimilarityTest, TruncatesWhenAskedAndSaysWhich) {
  std::string longer;
  for (int i = 0; i < 80; ++i) longer += "cat ";
  v1::ExplainSimilarityRequest request;
  request.set_first("the cat");
  request.set_second(longer);
  EXPECT_THAT(Explain(server_, request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "second has more than 64 tokens"));
  request.set_truncation(v1::TRUNCATION_RIGHT);
  request.set_max_tokens(10);
  const Explanation cut = Explain(server_, request);
  ASSERT_THAT(cut.status, IsGrpcOk());
  EXPECT_FALSE(cut.response.first_truncated());
  EXPECT_TRUE(cut.response.second_truncated());
  EXPECT_EQ(cut.response.contributions().cols(), 10u);
  request.set_max_tokens(65);
  EXPECT_THAT(Explain(server_, request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "max_tokens is 65"));
  request.set_truncation(static_cast<v1::Truncation>(9));
  EXPECT_THAT(Explain(server_, request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "truncation is 9"));
}

TEST_F(ExplainSimilarityTest, AReplyOverTheLimitIsRefusedBeforeAnythingIsComputed) {
  ServerOptions options = TestOptions(model_.path());
  options.max_message_bytes = 16'384;
  TestServer server(options);
  std::string text;
  for (int i = 0; i < 62; ++i) text += "cat ";
  const int64_t before = server.server().batches_run();
  EXPECT_THAT(Explain(server, text, text).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "the limit is 16384"));
  EXPECT_EQ(server.server().batches_run(), before);
}

TEST(ExplainSimilarityPoolingTest, AModelThatDoesNotPoolByAMeanIsRefusedByName) {
  for (const std::vector<std::string>& pooling :
       {std::vector<std::string>{"cls"}, std::vector<std::string>{"max"},
        std::vector<std::string>{"mean", "max"}}) {
    TinyModelOptions options;
    options.pooling = pooling;
    const TinyModel model(options);
    TestServer server(TestOptions(model.path()));
    EXPECT_THAT(Explain(server, "the cat", "a dog").status,
                GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION, pooling.back()));
  }
}

TEST(ExplainSimilarityPoolingTest, AWeightedMeanIsAMeanToo) {
  TinyModelOptions options;
  options.pooling = {"weightedmean"};
  const TinyModel model(options);
  TestServer server(TestOptions(model.path()));
  const Explanation explanation = Explain(server, "the cat sat", "a dog");
  ASSERT_THAT(explanation.status, IsGrpcOk());
  // The weights are at most n times the plain mean's.
  const double tolerance = 5 * (MeanError(Vector(server, "the cat sat", v1::POOLING_NONE)) +
                                MeanError(Vector(server, "a dog", v1::POOLING_NONE)));
  EXPECT_NEAR(explanation.response.cosine(),
              Cosine(Vector(server, "the cat sat"), Vector(server, "a dog")), tolerance);
  EXPECT_NEAR(explanation.Sum(), explanation.response.cosine(),
              2 * kRounding * explanation.AbsoluteSum() + kRounding);
}

}  // namespace
}  // namespace attune
