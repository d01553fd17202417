#include "client/attention_stream_check.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"
#include "tests/support/status_matchers.h"

namespace attune::internal {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::StreamParts;
using ::testing::HasSubstr;

using Parts = std::vector<v1::StreamAttentionMapResponse>;

// The first error of a stream of these parts.
absl::Status Check(const Parts& parts) {
  absl::StatusOr<AttentionStreamCheck> check = AttentionStreamCheck::Create(parts.front().header());
  if (!check.ok()) return check.status();
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    if (absl::Status status = check->Take(parts[i].chunk()); !status.ok()) return status;
  }
  return check->Finish(parts.back().trailer());
}

Parts TwoLayers() { return StreamParts(CountingMap(2, 2, 3, 4), 4); }

TEST(AttentionStreamCheckTest, AcceptsWholeMapsHoweverTheyAreCut) {
  for (const uint64_t rows : {1, 2, 4, 6}) {
    EXPECT_THAT(Check(StreamParts(CountingMap(2, 2, 3, 4), rows)), IsOk()) << rows;
  }
  EXPECT_THAT(Check(StreamParts({}, 1)), IsOk());
}

TEST(AttentionStreamCheckTest, KnowsWhereALayerEnds) {
  const Parts parts = TwoLayers();
  ATTUNE_ASSERT_OK_AND_ASSIGN(AttentionStreamCheck check,
                              AttentionStreamCheck::Create(parts.front().header()));
  std::vector<bool> ends;
  for (int i = 1; i <= 4; ++i) {
    ASSERT_THAT(check.Take(parts[i].chunk()), IsOk());
    ends.push_back(check.between_layers());
  }
  EXPECT_THAT(ends, ::testing::ElementsAre(false, true, false, true));
  EXPECT_TRUE(check.has_all_rows());
}

TEST(AttentionStreamCheckTest, RefusesAShapeThatIsNotOfTheLayers) {
  const std::function<void(v1::AttentionMapResponse&)> breaks[] = {
      [](auto& header) { header.set_shape(0, 3); }, [](auto& header) { header.set_shape(2, 0); },
      [](auto& header) { header.set_shape(1, uint64_t{1} << 40); },
      [](auto& header) { header.mutable_shape()->RemoveLast(); }};
  for (const auto& break_it : breaks) {
    Parts parts = TwoLayers();
    break_it(*parts.front().mutable_header());
    EXPECT_THAT(Check(parts), StatusIs(absl::StatusCode::kInternal, HasSubstr("not a shape")));
  }
}

TEST(AttentionStreamCheckTest, RefusesChunksOutOfPlace) {
  const struct {
    std::function<void(v1::AttentionChunk&)> break_it;
    std::string message;
  } cases[] = {
      {[](auto& chunk) { chunk.set_layer(1); }, "row 4 of layer 0 was due"},
      {[](auto& chunk) { chunk.set_first_row(2); }, "row 4 of layer 0 was due"},
      {[](auto& chunk) { chunk.set_first_head(0), chunk.set_first_row(4); }, "was due"},
      {[](auto& chunk) { chunk.set_rows(0); }, "0 rows of layer 0, of which 2 were left"},
      {[](auto& chunk) { chunk.set_rows(3); }, "3 rows of layer 0, of which 2 were left"},
      {[](auto& chunk) { chunk.mutable_data()->pop_back(); }, "not what its shape says"},
      {[](auto& chunk) { chunk.set_row_scales("1234"); }, "not what its shape says"},
  };
  for (const auto& c : cases) {
    Parts parts = TwoLayers();
    c.break_it(*parts[2].mutable_chunk());
    EXPECT_THAT(Check(parts), StatusIs(absl::StatusCode::kInternal, HasSubstr(c.message)));
  }
  Parts more = TwoLayers();
  more.insert(more.end() - 1, more[4]);
  EXPECT_THAT(Check(more), StatusIs(absl::StatusCode::kInternal, HasSubstr("more rows")));
}

TEST(AttentionStreamCheckTest, NoticesWhatTheTrailerContradicts) {
  Parts flipped = TwoLayers();
  flipped[3].mutable_chunk()->mutable_data()->at(5) ^= 1;
  EXPECT_THAT(Check(flipped), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("CRC-32C")));
  Parts missing = TwoLayers();
  missing.erase(missing.begin() + 4);
  EXPECT_THAT(Check(missing), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("10 rows in 3 chunks of the 12 rows")));
  Parts miscounted = TwoLayers();
  miscounted.back().mutable_trailer()->set_chunks(5);
  EXPECT_THAT(Check(miscounted), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("5 chunks")));
}

}  // namespace
}  // namespace attune::internal
