// Right answers from wrong ones, by a scripted server.
#include "client/cli/known_vectors.h"

#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

class KnownVectorsTest : public ::testing::Test {
 protected:
  absl::StatusOr<KnownVectors> Ask(const std::vector<std::string>& texts) {
    ClientOptions options;
    options.address = server_.address();
    const auto client = Client::Create(options);
    return KnownVectors::Ask(**client, texts, {});
  }

  static v1::EncodeResponse AnswerTo(const std::vector<std::string>& texts) {
    v1::EncodeRequest request;
    request.mutable_texts()->mutable_values()->Assign(texts.begin(), texts.end());
    v1::EncodeResponse response;
    FakeEncoder::DefaultEncode(request, response);
    return response;
  }

  FakeServer server_;
};

TEST_F(KnownVectorsTest, KnowsAnAnswerByTheBitsOfEachText) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const KnownVectors known, Ask({"a", "bb", "a", "ccc"}));
  EXPECT_TRUE(known.AreOf({"ccc", "a"}, AnswerTo({"ccc", "a"})));
  EXPECT_FALSE(known.AreOf({"a", "ccc"}, AnswerTo({"ccc", "a"})));
  EXPECT_FALSE(known.AreOf({"a", "bb"}, AnswerTo({"a"})));
  EXPECT_FALSE(known.AreOf({"a"}, AnswerTo({"a", "bb"})));
  EXPECT_FALSE(known.AreOf({"dddd"}, AnswerTo({"dddd"})));

  v1::EncodeResponse almost = AnswerTo({"a"});  // its last value is 0
  EXPECT_TRUE(known.AreOf({"a"}, almost));
  almost.mutable_embeddings(0)->set_values(FakeEncoder::kDimension - 1, -0.0F);
  EXPECT_FALSE(known.AreOf({"a"}, almost));
}

TEST_F(KnownVectorsTest, RefusesTextsWhoseAnswersCouldBeMixedUpUnseen) {
  // To the fake, texts are their length and first byte.
  EXPECT_THAT(Ask({"ab", "ac"}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("another text has the same vector")));
}

TEST_F(KnownVectorsTest, PassesOnTheServersError) {
  server_.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                                v1::EncodeResponse&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "too long");
  };
  EXPECT_THAT(Ask({"a"}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too long")));
}

}  // namespace
}  // namespace attune::cli
