#include "client/attention_values.h"

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

v1::AttentionMapResponse MapOf(std::initializer_list<uint64_t> shape, const std::string& data,
                               v1::AttentionEncoding encoding = v1::ATTENTION_ENCODING_F32) {
  v1::AttentionMapResponse map;
  map.set_encoding(encoding);
  for (const uint64_t size : shape) map.add_shape(size);
  map.set_data(data);
  return map;
}

std::string Zeros(size_t bytes) { return std::string(bytes, '\0'); }

const std::string kOneAndMinusHalf("\x00\x00\x80\x3f\x00\x00\x00\xbf", 8);

TEST(AttentionValuesTest, ReadsF32) {
  EXPECT_THAT(AttentionValues(MapOf({1, 1, 1, 2}, kOneAndMinusHalf)),
              IsOkAndHolds(ElementsAre(1.0f, -0.5f)));
}

TEST(AttentionValuesTest, ReadsEveryKindOfF16Exactly) {
  // 1, -2, the largest, the smallest normal, the smallest of all, -0.
  const std::string halves("\x00\x3c\x00\xc0\xff\x7b\x00\x04\x01\x00\x00\x80", 12);
  EXPECT_THAT(AttentionValues(MapOf({1, 1, 1, 6}, halves, v1::ATTENTION_ENCODING_F16)),
              IsOkAndHolds(ElementsAre(1.0f, -2.0f, 65504.0f, std::ldexp(1.0f, -14),
                                       std::ldexp(1.0f, -24), 0.0f)));
}

TEST(AttentionValuesTest, ScalesTheBytesOfEachRow) {
  v1::AttentionMapResponse map =
      MapOf({1, 1, 2, 2}, std::string("\x00\xff\x80\x01", 4), v1::ATTENTION_ENCODING_U8);
  map.set_row_scales(kOneAndMinusHalf);
  EXPECT_THAT(AttentionValues(map), IsOkAndHolds(ElementsAre(0.0f, 255.0f, -64.0f, -0.5f)));
}

TEST(AttentionValuesTest, PutsSparseCellsInTheirColumnsAndSaysWhichWereNotSent) {
  v1::AttentionMapResponse map = MapOf({1, 1, 2, 3}, kOneAndMinusHalf);
  map.mutable_sparse()->set_row_lengths(std::string("\x02\x00\x00\x00", 4));
  map.mutable_sparse()->set_columns(std::string("\x02\x00\x00\x00", 4));
  EXPECT_THAT(AttentionValues(map), IsOkAndHolds(ElementsAre(FloatEq(-0.5f), IsNan(), FloatEq(1.0f),
                                                             IsNan(), IsNan(), IsNan())));
}

TEST(AttentionValuesTest, AMapWithoutMatricesHasNone) {
  EXPECT_THAT(AttentionValues({}), IsOkAndHolds(IsEmpty()));
}

TEST(AttentionValuesTest, RefusesDataThatIsNotWhatTheShapeSays) {
  v1::AttentionMapResponse few_scales = MapOf({1, 1, 2, 1}, Zeros(2), v1::ATTENTION_ENCODING_U8);
  few_scales.set_row_scales(Zeros(4));
  v1::AttentionMapResponse beyond = MapOf({1, 1, 1, 2}, Zeros(4));
  beyond.mutable_sparse()->set_row_lengths(std::string("\x01\x00", 2));
  beyond.mutable_sparse()->set_columns(std::string("\x02\x00", 2));
  v1::AttentionMapResponse long_row = MapOf({1, 1, 1, 1}, Zeros(8));
  long_row.mutable_sparse()->set_row_lengths(std::string("\x02\x00", 2));
  long_row.mutable_sparse()->set_columns(Zeros(4));
  const v1::AttentionMapResponse cases[] = {
      MapOf({1, 1, 2, 2}, Zeros(12)),
      MapOf({1, 1, 2, 2}, Zeros(15)),
      MapOf({2, 2}, Zeros(16)),
      MapOf({}, Zeros(4)),
      MapOf({1, 1, 0, 0}, ""),
      MapOf({1u << 31, 1u << 31, 2, 2}, Zeros(16)),
      MapOf({1, 1, 1, 2}, Zeros(8), v1::ATTENTION_ENCODING_F16),
      few_scales,
      beyond,
      long_row};
  for (const auto& map : cases) {
    EXPECT_THAT(AttentionValues(map),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("not what its shape says")));
  }
}

TEST(AttentionValuesTest, DoesNotWriteOutMoreCellsThanFitMemory) {
  v1::AttentionMapResponse map = MapOf({1, 1, 4097, 65536}, "");
  map.mutable_sparse()->set_row_lengths(Zeros(2 * 4097));
  EXPECT_THAT(AttentionValues(map), StatusIs(absl::StatusCode::kOutOfRange,
                                             HasSubstr("4097 rows of 65536 is too large")));
}

TEST(AttentionValuesTest, RefusesAnEncodingThatItDoesNotKnow) {
  const auto unknown = static_cast<v1::AttentionEncoding>(9);
  EXPECT_THAT(AttentionValues(MapOf({1, 1, 1, 1}, "x", unknown)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("encoding 9")));
}

TEST(AttentionValuesTest, ReadsALayerOfAStream) {
  v1::AttentionChunk layer;
  layer.set_rows(1);
  layer.set_data(kOneAndMinusHalf);
  const v1::AttentionMapResponse map = MapOf({3, 1, 1, 2}, "");
  EXPECT_THAT(AttentionLayerValues(map, layer), IsOkAndHolds(ElementsAre(1.0f, -0.5f)));
  layer.set_rows(2);
  EXPECT_THAT(AttentionLayerValues(map, layer),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not what its shape says")));
}

}  // namespace
}  // namespace attune
