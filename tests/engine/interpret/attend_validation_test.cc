// Every limit and shape that Attend refuses: by code, field, value and limit.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/interpret/attend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Three vectors of four dimensions, two heads, every projection present.
AttendInput Valid() {
  AttendInput input;
  input.vectors = RandomMatrix(3, 4, 1);
  input.query_projection = RandomMatrix(4, 6, 2);
  input.key_projection = RandomMatrix(4, 6, 3);
  input.value_projection = RandomMatrix(4, 2, 4);
  input.output_projection = RandomMatrix(2, 5, 5);
  input.heads = 2;
  return input;
}

AttendInput ValidAdditive() {
  AttendInput input = Valid();
  input.score = AttendScore::kAdditive;
  input.additive_vector = RandomMatrix(1, 6, 6);
  return input;
}

AttendInput ValidGiven() {
  AttendInput input = Valid();
  input.given_weights = RandomMatrix(6, 3, 7);
  return input;
}

struct Case {
  std::string name;
  AttendInput (*base)();
  std::function<void(AttendInput&)> spoil;
  std::string message;  // its start: the field comes first
};

void Set(AttendMask& mask, AttendMask::Kind kind, int64_t left, int64_t right) {
  mask.kind = kind;
  mask.left = left;
  mask.right = right;
}

std::vector<Case> ShapeCases() {
  return {
      {"NoVectors", Valid, [](AttendInput& in) { in.vectors = Matrix(); },
       "vectors rows is 0; valid are 1 to 2048"},
      {"TooManyVectors", Valid, [](AttendInput& in) { in.vectors = Matrix(2049, 4); },
       "vectors rows is 2049; valid are 1 to 2048"},
      {"EmptyVectors", Valid, [](AttendInput& in) { in.vectors = Matrix(3, 0); },
       "vectors columns is 0; valid are 1 to 4096"},
      {"TooLongVectors", Valid, [](AttendInput& in) { in.vectors = Matrix(3, 4097); },
       "vectors columns is 4097; valid are 1 to 4096"},
      {"NoHeads", Valid, [](AttendInput& in) { in.heads = 0; }, "heads is 0; valid are 1 to 64"},
      {"NegativeHeads", Valid, [](AttendInput& in) { in.heads = -1; },
       "heads is -1; valid are 1 to 64"},
      {"TooManyHeads", Valid, [](AttendInput& in) { in.heads = 65; },
       "heads is 65; valid are 1 to 64"},
      {"QueryProjectionRows", Valid, [](AttendInput& in) { in.query_projection = Matrix(5, 6); },
       "query_projection has 5 rows; the vectors it projects have 4 columns"},
      {"KeyProjectionRows", Valid, [](AttendInput& in) { in.key_projection = Matrix(3, 6); },
       "key_projection has 3 rows; the vectors it projects have 4 columns"},
      {"ValueProjectionRows", Valid, [](AttendInput& in) { in.value_projection = Matrix(1, 2); },
       "value_projection has 1 rows; the vectors it projects have 4 columns"},
      {"OutputProjectionRows", Valid, [](AttendInput& in) { in.output_projection = Matrix(4, 5); },
       "output_projection has 4 rows; the vectors it projects have 2 columns"},
      {"ProjectionWithoutRows", Valid, [](AttendInput& in) { in.key_projection = Matrix(0, 6); },
       "key_projection has 0 rows"},
      {"ProjectionWithoutColumns", Valid,
       [](AttendInput& in) { in.value_projection = Matrix(4, 0); },
       "value_projection columns is 0; valid are 1 to 4096"},
      {"ProjectionTooWide", Valid, [](AttendInput& in) { in.query_projection = Matrix(4, 4098); },
       "query_projection columns is 4098; valid are 1 to 4096"},
      {"OutputTooWide", Valid, [](AttendInput& in) { in.output_projection = Matrix(2, 4097); },
       "output_projection columns is 4097; valid are 1 to 4096"},
      {"QueriesUnlikeKeys", Valid, [](AttendInput& in) { in.key_projection = Matrix(4, 8); },
       "key_projection makes keys of 8 columns; the queries have 6"},
      {"IdentityQueriesUnlikeKeys", Valid, [](AttendInput& in) { in.query_projection = Matrix(); },
       "key_projection makes keys of 6 columns; the queries have 4"},
      {"QueriesDoNotDivideIntoHeads", Valid, [](AttendInput& in) { in.heads = 4; },
       "query_projection has 6 columns; they must be a multiple of heads, which is 4"},
      {"ValuesDoNotDivideIntoHeads", Valid, [](AttendInput& in) { in.heads = 3; },
       "value_projection has 2 columns; they must be a multiple of heads, which is 3"},
      {"IdentityDoesNotDivideIntoHeads", Valid,
       [](AttendInput& in) {
         in.value_projection = Matrix();
         in.heads = 3;
       },
       "vectors has 4 columns; they must be a multiple of heads, which is 3"},
      {"AdditiveVectorAbsent", ValidAdditive,
       [](AttendInput& in) { in.additive_vector = Matrix(); },
       "additive_vector is [0, 0]; it must be [1, 6]"},
      {"AdditiveVectorWrongLength", ValidAdditive,
       [](AttendInput& in) { in.additive_vector = Matrix(1, 3); },
       "additive_vector is [1, 3]; it must be [1, 6]"},
      {"AdditiveVectorTooManyRows", ValidAdditive,
       [](AttendInput& in) { in.additive_vector = Matrix(2, 6); },
       "additive_vector is [2, 6]; it must be [1, 6]"},
      {"AdditiveVectorUnused", ValidAdditive, [](AttendInput& in) { in.score = AttendScore::kDot; },
       "additive_vector is given, but the score is not additive"},
  };
}

std::vector<Case> MaskAndWeightCases() {
  using Kind = AttendMask::Kind;
  return {
      {"WindowLeftNegative", Valid, [](AttendInput& in) { Set(in.mask, Kind::kWindow, -1, 0); },
       "mask.window.left is -1; valid are 0 to 3"},
      {"WindowLeftTooFar", Valid, [](AttendInput& in) { Set(in.mask, Kind::kWindow, 4, 0); },
       "mask.window.left is 4; valid are 0 to 3"},
      {"WindowRightTooFar", Valid, [](AttendInput& in) { Set(in.mask, Kind::kWindow, 0, 4); },
       "mask.window.right is 4; valid are 0 to 3"},
      {"EdgeFromNowhere", Valid,
       [](AttendInput& in) {
         in.mask.kind = Kind::kGraph;
         in.mask.edges = {{0, 1}, {3, 0}};
       },
       "mask.graph.edges[1] is from 3 to 0; valid are 0 to 2"},
      {"EdgeToNowhere", Valid,
       [](AttendInput& in) {
         in.mask.kind = Kind::kGraph;
         in.mask.edges = {{0, -1}};
       },
       "mask.graph.edges[0] is from 0 to -1; valid are 0 to 2"},
      {"TooManyEdges", Valid,
       [](AttendInput& in) {
         in.mask.kind = Kind::kGraph;
         in.mask.edges.assign(10, {0, 0});
       },
       "mask.graph.edges size is 10; valid are 0 to 9"},
      {"GivenWeightsShape", ValidGiven, [](AttendInput& in) { in.given_weights = Matrix(3, 3); },
       "given_weights is [3, 3]; it must be [6, 3]"},
      {"GivenWeightsWithScore", ValidGiven, [](AttendInput& in) { in.score = AttendScore::kDot; },
       "score is set, but given_weights"},
      {"GivenWeightsWithAdditiveVector", ValidGiven,
       [](AttendInput& in) { in.additive_vector = RandomMatrix(1, 6, 1); },
       "additive_vector is given"},
      {"GivenWeightsWithNormalizer", ValidGiven,
       [](AttendInput& in) { in.normalizer = AttendNormalizer::kRelu; },
       "normalizer is set, but given_weights"},
      {"GivenWeightsWithMask", ValidGiven, [](AttendInput& in) { in.mask.kind = Kind::kCausal; },
       "mask is set, but given_weights"},
  };
}

std::vector<Case> FiniteCases() {
  return {
      {"NanVector", Valid, [](AttendInput& in) { in.vectors.row(2)[1] = kNan; },
       "vectors holds nan at row 2, column 1; every value must be finite"},
      {"InfiniteVector", Valid, [](AttendInput& in) { in.vectors.row(0)[3] = -kInf; },
       "vectors holds -inf at row 0, column 3"},
      {"NanQueryProjection", Valid, [](AttendInput& in) { in.query_projection.row(3)[5] = kNan; },
       "query_projection holds nan at row 3, column 5"},
      {"InfiniteKeyProjection", Valid, [](AttendInput& in) { in.key_projection.row(0)[0] = kInf; },
       "key_projection holds inf at row 0, column 0"},
      {"NanValueProjection", Valid, [](AttendInput& in) { in.value_projection.row(1)[1] = kNan; },
       "value_projection holds nan at row 1, column 1"},
      {"NanOutputProjection", Valid, [](AttendInput& in) { in.output_projection.row(1)[4] = kNan; },
       "output_projection holds nan at row 1, column 4"},
      {"NanAdditiveVector", ValidAdditive,
       [](AttendInput& in) { in.additive_vector.row(0)[2] = kNan; },
       "additive_vector holds nan at row 0, column 2"},
      {"NanGivenWeights", ValidGiven, [](AttendInput& in) { in.given_weights.row(5)[0] = kNan; },
       "given_weights holds nan at row 5, column 0"},
  };
}

class AttendValidationTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttendValidationTest, IsRefusedByField) {
  AttendInput input = GetParam().base();
  ASSERT_THAT(ValidateAttend(input), IsOk());
  GetParam().spoil(input);
  EXPECT_THAT(ValidateAttend(input),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(GetParam().message)));
  bool asked = false;
  EXPECT_THAT(Attend(input, [&] { return asked = true; }),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(GetParam().message)));
  EXPECT_FALSE(asked) << "work had begun";
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Shapes, AttendValidationTest, ::testing::ValuesIn(ShapeCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(MasksAndWeights, AttendValidationTest,
                         ::testing::ValuesIn(MaskAndWeightCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Finite, AttendValidationTest, ::testing::ValuesIn(FiniteCases()),
                         CaseName);

TEST(AttendLimitsTest, LimitsThemselvesAreValid) {
  AttendInput input;
  input.vectors = Matrix(AttendLimits::kMaxVectors, AttendLimits::kMaxDimension);
  input.heads = AttendLimits::kMaxHeads;
  EXPECT_THAT(ValidateAttend(input), IsOk());
  input.mask.kind = AttendMask::Kind::kWindow;
  input.mask.left = input.mask.right = AttendLimits::kMaxVectors;
  EXPECT_THAT(ValidateAttend(input), IsOk());
}

// Finite input whose result f32 cannot hold: the caller's to mend, and never an infinity.
TEST(AttendOverflowTest, EachStepThatOverflowsIsNamed) {
  AttendInput scores;
  scores.vectors = MatrixOf({{1}, {1e30F}});
  EXPECT_THAT(Attend(scores),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("scores beyond the range of f32 (3.4e38) in row 1")));

  AttendInput keys;
  keys.vectors = MatrixOf({{1e30F}});
  keys.query_projection = MatrixOf({{0}});
  keys.key_projection = MatrixOf({{1e30F}});
  EXPECT_THAT(Attend(keys), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keys beyond")));

  AttendInput outputs;
  outputs.vectors = MatrixOf({{1e30F}});
  outputs.given_weights = MatrixOf({{1e30F}});
  EXPECT_THAT(Attend(outputs),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outputs beyond")));
}

}  // namespace
}  // namespace attune
