#include "client/batch_splitter.h"

#include <limits>

#include "attune/v1/attune.pb.h"
#include "gmock/gmock.h"

namespace attune {
namespace {

constexpr BatchLimits kLimits{.max_items = 3, .max_request_bytes = 100, .max_reply_bytes = 1000};

TEST(BatchSplitterTest, FitsUpToEachLimitAndNotBeyond) {
  BatchSplitter splitter(kLimits);
  splitter.Add({.request_bytes = 60, .reply_bytes = 900});
  EXPECT_TRUE(splitter.Fits({.request_bytes = 40, .reply_bytes = 100}));
  EXPECT_FALSE(splitter.Fits({.request_bytes = 41, .reply_bytes = 100}));
  EXPECT_FALSE(splitter.Fits({.request_bytes = 40, .reply_bytes = 101}));
}

TEST(BatchSplitterTest, ClosesAtTheNumberOfItems) {
  BatchSplitter splitter(kLimits);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(splitter.Fits({.request_bytes = 1, .reply_bytes = 1}));
    splitter.Add({.request_bytes = 1, .reply_bytes = 1});
  }
  EXPECT_FALSE(splitter.Fits({.request_bytes = 1, .reply_bytes = 1}));
}

TEST(BatchSplitterTest, TakesAnOversizeItemAlone) {
  BatchSplitter splitter(kLimits);
  const BatchCost huge{.request_bytes = std::numeric_limits<size_t>::max(), .reply_bytes = 5000};
  EXPECT_TRUE(splitter.Fits(huge));
  splitter.Add(huge);
  EXPECT_FALSE(splitter.Fits({.request_bytes = 1, .reply_bytes = 0}));
}

TEST(BatchSplitterTest, IsEmptyAgainAfterClear) {
  BatchSplitter splitter(kLimits);
  splitter.Add({.request_bytes = 100, .reply_bytes = 1000});
  splitter.Clear();
  EXPECT_EQ(splitter.items(), 0u);
  EXPECT_TRUE(splitter.Fits({.request_bytes = 100, .reply_bytes = 1000}));
}

TEST(BatchSplitterTest, ReplyBytesBoundTheSerializedEmbedding) {
  for (const int values : {0, 1, 31, 32, 384, 4096 * 512}) {
    v1::EncodeResponse response;
    v1::Embedding* embedding = response.add_embeddings();
    for (int i = 0; i < values; ++i) embedding->add_values(1.0f);
    embedding->set_tokens(std::numeric_limits<uint32_t>::max());
    embedding->set_truncated(true);
    embedding->set_beyond_trained_length(true);
    EXPECT_LE(response.ByteSizeLong(), EmbeddingReplyBytes(static_cast<uint64_t>(values)))
        << values << " values";
  }
}

TEST(BatchSplitterTest, ReplyBytesDoNotOverflow) {
  EXPECT_GT(EmbeddingReplyBytes(std::numeric_limits<uint64_t>::max()),
            std::numeric_limits<size_t>::max() / 2);
}

}  // namespace
}  // namespace attune
