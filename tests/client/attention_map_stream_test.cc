// Client::StreamAttentionMap against a scripted server.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::StreamParts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Parts = std::vector<v1::StreamAttentionMapResponse>;

// A client of a server that answers with `parts`, and ends with `status`. One for each answer: a
// handler may still be writing when its caller has gone.
class StreamOf {
 public:
  explicit StreamOf(Parts parts, grpc::Status status = grpc::Status::OK)
      : client_(*Client::Create({.address = server_.address(), .max_attempts = 1})) {
    server_.encoder().attention_stream = [parts = std::move(parts), status](
                                             const v1::AttentionQuery&,
                                             FakeEncoder::StreamWriter& writer) {
      for (const auto& part : parts) writer.Write(part);
      return status;
    };
  }

  FakeServer& server() { return server_; }
  absl::StatusOr<std::unique_ptr<AttentionMapStream>> Open(const v1::AttentionQuery& query = {}) {
    return client_->StreamAttentionMap(query);
  }

  // How it ends if every layer is taken.
  absl::Status Drain() {
    const auto stream = Open();
    if (!stream.ok()) return stream.status();
    while (true) {
      const auto layer = (*stream)->NextLayer();
      if (!layer.ok()) {
        EXPECT_EQ((*stream)->NextLayer().status(), layer.status()) << "an error stays";
        return layer.status();
      }
      if (!layer->has_value()) return absl::OkStatus();
    }
  }

 private:
  FakeServer server_;
  const std::unique_ptr<Client> client_;
};

TEST(AttentionMapStreamTest, GivesWholeLayersAndThenTheRest) {
  v1::AttentionMapResponse map = CountingMap(2, 2, 3, 1);
  map.add_tokens()->set_text("cat");
  map.add_statistics()->set_entropy(2.5f);
  StreamOf two_layers(StreamParts(map, 4));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto stream, two_layers.Open());
  EXPECT_EQ(stream->map().tokens(0).text(), "cat");
  EXPECT_EQ(stream->map().statistics_size(), 0);
  for (const float first : {0.0f, 6.0f}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const auto layer, stream->NextLayer());
    ASSERT_TRUE(layer.has_value());
    EXPECT_EQ(layer->rows(), 6u);
    ATTUNE_ASSERT_OK_AND_ASSIGN(const std::vector<float> values,
                                AttentionLayerValues(stream->map(), *layer));
    EXPECT_THAT(values, ElementsAre(first, first + 1, first + 2, first + 3, first + 4, first + 5));
  }
  for (int again = 0; again < 2; ++again) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const auto end, stream->NextLayer());
    EXPECT_FALSE(end.has_value());
  }
  EXPECT_EQ(stream->map().statistics(0).entropy(), 2.5f);
}

TEST(AttentionMapStreamTest, PutsSparseLayersTogether) {
  Parts parts = StreamParts(CountingMap(1, 1, 2, 1), 1);
  parts[0].mutable_header()->set_shape(3, 9);
  for (const int i : {1, 2}) {
    v1::SparseCells& sparse = *parts[i].mutable_chunk()->mutable_sparse();
    sparse.set_row_lengths(std::string("\x01\x00", 2));
    sparse.set_columns(std::string(i == 1 ? "\x03\x00" : "\x08\x00", 2));
    parts[i].mutable_chunk()->set_kept_mass("1234");
  }
  StreamOf sparse_layer(parts);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto stream, sparse_layer.Open());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto layer, stream->NextLayer());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::vector<float> values,
                              AttentionLayerValues(stream->map(), *layer));
  EXPECT_EQ(values[3], 0.0f);
  EXPECT_EQ(values[9 + 8], 1.0f);
  EXPECT_EQ(layer->kept_mass(), "12341234");
}

TEST(AttentionMapStreamTest, AMapWithoutMatricesHasNoLayers) {
  EXPECT_THAT(StreamOf(StreamParts({}, 1)).Drain(), IsOk());
}

TEST(AttentionMapStreamTest, AQueryThatIsRefusedIsAnErrorAtOnce) {
  StreamOf refused({}, {grpc::StatusCode::INVALID_ARGUMENT, "query.layers[0] is 9"});
  EXPECT_THAT(refused.Open(), StatusIs(absl::StatusCode::kInvalidArgument, "query.layers[0] is 9"));
}

TEST(AttentionMapStreamTest, RefusesTextThatIsNotUtf8BeforeItIsSent) {
  v1::AttentionQuery query;
  query.mutable_text_pair()->set_second("caf\xe9");
  StreamOf unasked({});
  EXPECT_THAT(unasked.Open(query),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.text_pair.second")));
  EXPECT_EQ(unasked.server().encoder().CountCalls("StreamAttentionMap"), 0u);
}

TEST(AttentionMapStreamTest, AStreamThatBreaksOffIsAnErrorWhateverItBrought) {
  const Parts whole = StreamParts(CountingMap(2, 1, 2, 2), 1);
  for (size_t kept = 0; kept < whole.size(); ++kept) {
    StreamOf cut({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)});
    EXPECT_THAT(cut.Drain(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("without its trailer")))
        << kept;
  }
  EXPECT_THAT(StreamOf({whole[0], whole[1]}, {grpc::StatusCode::CANCELLED, "stalled"}).Drain(),
              StatusIs(absl::StatusCode::kCancelled, "stalled"));
  EXPECT_THAT(StreamOf(whole, {grpc::StatusCode::INTERNAL, "late"}).Drain(),
              StatusIs(absl::StatusCode::kInternal, "late"));
}

TEST(AttentionMapStreamTest, RefusesPartsOutOfPlace) {
  const Parts whole = StreamParts(CountingMap(2, 1, 2, 2), 1);
  const Parts cases[] = {{whole[1], whole[2]},                          // no header
                         {whole[0], whole[0]},                          // two
                         {whole[0], whole[1], whole.back()},            // within a layer
                         {whole[0], v1::StreamAttentionMapResponse()},  // nothing that is known
                         [&] {
                           Parts after = whole;
                           after.push_back(whole[1]);
                           return after;
                         }()};
  for (const Parts& parts : cases) {
    EXPECT_THAT(StreamOf(parts).Drain(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("out of its place")));
  }
}

TEST(AttentionMapStreamTest, NoticesBytesThatChangedOnTheWay) {
  Parts parts = StreamParts(CountingMap(2, 1, 2, 2), 1);
  parts[2].mutable_chunk()->mutable_data()->at(0) ^= 1;
  EXPECT_THAT(StreamOf(parts).Drain(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("CRC-32C")));
}

TEST(AttentionMapStreamTest, LettingGoOfAStreamCancelsIt) {
  std::atomic<bool> cancelled = false;
  FakeServer server;
  server.encoder().attention_stream = [&cancelled](const v1::AttentionQuery&,
                                                   FakeEncoder::StreamWriter& writer) {
    const Parts parts = StreamParts(CountingMap(1, 1, 1, 1 << 16), 1);
    writer.Write(parts[0]);
    // Writes until the client has gone.
    while (writer.Write(parts[1])) {
    }
    cancelled = true;
    return grpc::Status::CANCELLED;
  };
  const auto client = *Client::Create({.address = server.address()});
  EXPECT_THAT(client->StreamAttentionMap({}), IsOk());
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (!cancelled && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace attune
