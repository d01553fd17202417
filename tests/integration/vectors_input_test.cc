// Vectors as the input of Encode, through a running server: what `inputs_embeds` is elsewhere.

#include <algorithm>
#include <limits>
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

constexpr uint32_t kHidden = 16;

class VectorsInputTest : public ::testing::Test {
 protected:
  VectorsInputTest() : server_(TestOptions(model_.path())) {}

  void AddVectors(const std::vector<std::string>& tokens, v1::EncodeRequest& request) const {
    v1::Matrix& matrix = *request.mutable_vectors()->add_values();
    matrix.set_rows(static_cast<uint32_t>(tokens.size()));
    matrix.set_cols(kHidden);
    for (const std::string& token : tokens) {
      const std::vector<float> vector = model_.WordVector(token);
      matrix.mutable_values()->Add(vector.begin(), vector.end());
    }
  }

  static v1::Matrix Zeros(uint32_t rows, uint32_t cols) {
    v1::Matrix matrix;
    matrix.set_rows(rows);
    matrix.set_cols(cols);
    matrix.mutable_values()->Resize(static_cast<int>(rows * cols), 0.0f);
    return matrix;
  }

  grpc::Status EncodeMatrix(const v1::Matrix& matrix) {
    v1::EncodeRequest request;
    *request.mutable_vectors()->add_values() = matrix;
    return Encode(server_.stub(), request).status;
  }

  TinyModel model_;
  TestServer server_;
};

std::vector<float> Values(const EncodeResult& result, int index) {
  const auto& values = result.response.embeddings(index).values();
  return {values.begin(), values.end()};
}

TEST_F(VectorsInputTest, WordVectorsGiveWhatTheirTokensGiveBitForBit) {
  v1::EncodeRequest request;
  AddVectors({"[CLS]", "the", "cat", "sat", "[SEP]"}, request);
  AddVectors({"[CLS]", "dog", "[SEP]"}, request);
  const EncodeResult vectors = Encode(server_.stub(), request);
  ASSERT_THAT(vectors.status, IsGrpcOk());
  ASSERT_EQ(vectors.response.embeddings_size(), 2);
  EXPECT_EQ(vectors.response.embeddings(0).tokens(), 5u);
  const EncodeResult texts = Encode(server_.stub(), {"the cat sat", "dog"});
  EXPECT_EQ(Values(vectors, 0), Values(texts, 0));
  EXPECT_EQ(Values(vectors, 1), Values(texts, 1));
}

TEST_F(VectorsInputTest, TokenVectorsAndOtherPoolingsAreAsForTexts) {
  v1::EncodeRequest request;
  AddVectors({"[CLS]", "hello", "world", "[SEP]"}, request);
  for (const v1::Pooling pooling : {v1::POOLING_NONE, v1::POOLING_CLS, v1::POOLING_MAX}) {
    v1::EncodeOptions options;
    options.set_pooling(pooling);
    *request.mutable_options() = options;
    const EncodeResult vectors = Encode(server_.stub(), request);
    ASSERT_THAT(vectors.status, IsGrpcOk());
    const EncodeResult text = Encode(server_.stub(), {"hello world"}, options);
    EXPECT_EQ(Values(vectors, 0), Values(text, 0)) << v1::Pooling_Name(pooling);
  }
}

TEST_F(VectorsInputTest, AVectorThatIsNoWordsMovesTheResult) {
  v1::EncodeRequest request;
  AddVectors({"[CLS]", "the", "cat", "[SEP]"}, request);
  const EncodeResult words = Encode(server_.stub(), request);
  float& value =
      *request.mutable_vectors()->mutable_values(0)->mutable_values()->Mutable(kHidden + 3);
  value += 0.5f;
  const EncodeResult moved = Encode(server_.stub(), request);
  ASSERT_THAT(moved.status, IsGrpcOk());
  EXPECT_NE(Values(moved, 0), Values(words, 0));
}

TEST_F(VectorsInputTest, ShapesAreCheckedByName) {
  EXPECT_THAT(EncodeMatrix(Zeros(2, kHidden + 1)),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "vectors.values[0] has 17 cols; the model takes 16"));
  EXPECT_THAT(EncodeMatrix(Zeros(65, kHidden)),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "vectors.values[0] has 65 rows; the limit is 64"));
  EXPECT_THAT(EncodeMatrix(Zeros(0, kHidden)),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "vectors.values[0] is empty"));
  v1::Matrix short_of_values = Zeros(2, kHidden);
  short_of_values.mutable_values()->RemoveLast();
  EXPECT_THAT(EncodeMatrix(short_of_values), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                                                          "2 rows and 16 cols, but 31 values"));
  v1::EncodeRequest none;
  none.mutable_vectors();
  EXPECT_THAT(Encode(server_.stub(), none).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "vectors.values is empty"));
}

TEST_F(VectorsInputTest, ValuesThatAreNotFiniteAreNamed) {
  v1::Matrix matrix = Zeros(2, kHidden);
  matrix.set_values(20, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(EncodeMatrix(matrix), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                                                 "vectors.values[0].values[20] is nan"));
  matrix.set_values(20, -std::numeric_limits<float>::infinity());
  EXPECT_THAT(EncodeMatrix(matrix), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                                                 "vectors.values[0].values[20] is -inf"));
}

TEST_F(VectorsInputTest, ValuesThatOverflowHarmNoOtherItem) {
  v1::Matrix matrix = Zeros(1, kHidden);
  for (int i = 0; i < static_cast<int>(kHidden); ++i) {
    matrix.set_values(i, i % 2 == 0 ? 3e38f : -3e38f);
  }
  EXPECT_THAT(EncodeMatrix(matrix), GrpcStatusIs(grpc::StatusCode::INTERNAL, "is not finite"));
  EXPECT_THAT(Encode(server_.stub(), {"the cat"}).status, IsGrpcOk());
}

}  // namespace
}  // namespace attune
