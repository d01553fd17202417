// Client::HeadStatistics against a scripted server.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

TextSource SourceOf(std::vector<std::string> texts) {
  auto left = std::make_shared<std::vector<std::string>>(std::move(texts));
  auto next = std::make_shared<size_t>(0);
  return [left, next]() -> absl::StatusOr<std::optional<std::string>> {
    if (*next == left->size()) return std::nullopt;
    return (*left)[(*next)++];
  };
}

class HeadStatisticsTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::HeadStatisticsResponse> Run(const TextSource& source,
                                                 absl::Duration deadline = absl::Seconds(30)) {
    auto client =
        Client::Create({.address = server_.address(), .deadline = deadline, .max_attempts = 1});
    return (*client)->HeadStatistics(source, options_);
  }

  FakeServer server_;
  HeadStatisticsOptions options_;
};

TEST_F(HeadStatisticsTest, SendsEveryTextInOrderWithItsTruncation) {
  std::vector<std::string> seen;
  server_.encoder().head_statistics = [&seen](grpc::ServerContext&, FakeEncoder::TextReader& reader,
                                              v1::HeadStatisticsResponse& response) {
    v1::HeadStatisticsRequest request;
    while (reader.Read(&request)) {
      EXPECT_EQ(request.truncation(), v1::TRUNCATION_LEFT);
      seen.push_back(request.text());
    }
    response.set_texts(seen.size());
    response.add_statistics()->set_entropy(1.5f);
    return grpc::Status::OK;
  };
  std::vector<uint64_t> progress;
  options_.truncation = v1::TRUNCATION_LEFT;
  options_.on_progress = [&progress](uint64_t texts) { progress.push_back(texts); };
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::HeadStatisticsResponse response,
                              Run(SourceOf({"a", "", "c"})));
  EXPECT_THAT(seen, ElementsAre("a", "", "c"));
  EXPECT_THAT(progress, ElementsAre(1, 2, 3));
  EXPECT_EQ(response.texts(), 3u);
  EXPECT_EQ(response.statistics(0).entropy(), 1.5f);
}

TEST_F(HeadStatisticsTest, TakesMoreTextsThanAnyBufferHolds) {
  int left = 3000;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::HeadStatisticsResponse response,
                              Run([&left]() -> absl::StatusOr<std::optional<std::string>> {
                                if (left-- == 0) return std::nullopt;
                                return std::string(10'000, 'a');
                              }));
  EXPECT_EQ(response.texts(), 3000u);
}

TEST_F(HeadStatisticsTest, TellsWhichTextTheServerRefused) {
  server_.encoder().head_statistics = [](grpc::ServerContext&, FakeEncoder::TextReader& reader,
                                         v1::HeadStatisticsResponse&) {
    v1::HeadStatisticsRequest request;
    reader.Read(&request);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "text 1: query.text has 900 tokens");
  };
  const auto response = Run(SourceOf({"a", "b", "c"}));
  EXPECT_THAT(response,
              StatusIs(absl::StatusCode::kInvalidArgument, "input 1: query.text has 900 tokens"));
  EXPECT_THAT(FailedInputIndex(response.status()), Optional(1u));
}

TEST_F(HeadStatisticsTest, AnErrorThatIsAboutNoTextStaysAsItIs) {
  server_.encoder().head_statistics = [](grpc::ServerContext&, FakeEncoder::TextReader&,
                                         v1::HeadStatisticsResponse&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server drains");
  };
  EXPECT_THAT(Run(SourceOf({"a"})), StatusIs(absl::StatusCode::kUnavailable, "the server drains"));
}

TEST_F(HeadStatisticsTest, RefusesATextThatIsNotUtf8) {
  const auto response = Run(SourceOf({"a", "caf\xe9"}));
  EXPECT_THAT(response, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("input 1: text is not UTF-8")));
  EXPECT_THAT(FailedInputIndex(response.status()), Optional(1u));
}

TEST_F(HeadStatisticsTest, EndsWithTheSourcesError) {
  EXPECT_THAT(Run([]() { return absl::NotFoundError("no file"); }),
              StatusIs(absl::StatusCode::kNotFound, "no file"));
}

TEST_F(HeadStatisticsTest, GivesUpOnAServerThatDoesNotGetOn) {
  server_.encoder().head_statistics = [](grpc::ServerContext& context, FakeEncoder::TextReader&,
                                         v1::HeadStatisticsResponse&) {
    while (!context.IsCancelled()) {
    }
    return grpc::Status::CANCELLED;
  };
  EXPECT_THAT(Run(SourceOf({"a"}), absl::Milliseconds(200)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("text 0 within 200ms")));
}

TEST_F(HeadStatisticsTest, SaysThatThereIsNoServer) {
  auto client = Client::Create({.address = "127.0.0.1:1", .max_attempts = 1});
  EXPECT_THAT((*client)->HeadStatistics(SourceOf({"a"})),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

}  // namespace
}  // namespace attune
