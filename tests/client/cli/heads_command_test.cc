// `attune heads` as a user runs it, against a scripted server.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/cli/program_fixture.h"

namespace attune {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::kError;
using ::attune::testing::kOk;
using ::attune::testing::kUsage;
using ::attune::testing::ProgramResult;
using ::attune::testing::ProgramTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

// Two heads of layer 0.
template <typename Message>
void AddHeads(Message& message) {
  v1::HeadSummary& first = *message.add_statistics();
  first.set_entropy(1.25f);
  v1::HeadSummary& second = *message.add_statistics();
  second.set_head(1);
  second.set_entropy(2.5f);
  second.set_label(v1::HEAD_LABEL_BROAD);
  message.mutable_provenance()->set_model("fake");
}

class HeadsCommandTest : public ProgramTest {
 protected:
  HeadsCommandTest() {
    server_.encoder().attention = [this](const v1::AttentionMapRequest& request,
                                         v1::AttentionMapResponse& response) {
      query_ = request.query();
      response.set_truncated(request.query().text() == "long");
      response.add_tokens();
      AddHeads(response);
      return grpc::Status::OK;
    };
    server_.encoder().head_statistics = [this](grpc::ServerContext&,
                                               FakeEncoder::TextReader& reader,
                                               v1::HeadStatisticsResponse& response) {
      v1::HeadStatisticsRequest request;
      while (reader.Read(&request)) {
        texts_.push_back(request.text());
        truncation_ = request.truncation();
      }
      response.set_texts(texts_.size());
      response.set_tokens(42);
      AddHeads(response);
      return grpc::Status::OK;
    };
  }

  v1::AttentionQuery query_;
  std::vector<std::string> texts_;
  v1::Truncation truncation_ = v1::TRUNCATION_UNSPECIFIED;
};

TEST_F(HeadsCommandTest, OneTextNeedsNoMapAndSaysWhetherItWasCut) {
  const ProgramResult result = Attune({"heads", "long"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(query_.matrix(), v1::ATTENTION_MATRIX_NONE);
  EXPECT_TRUE(query_.statistics());
  EXPECT_EQ(query_.truncation(), v1::TRUNCATION_RIGHT);
  EXPECT_THAT(result.out, AllOf(StartsWith("layer  head  self"), HasSubstr("1 text, 1 tokens")));
  EXPECT_THAT(result.err, HasSubstr("1 of 1 texts had too many tokens"));
}

TEST_F(HeadsCommandTest, AveragesOverTheLinesOfAFile) {
  const std::string path = File("texts.txt", "one\n\nthree\n");
  const ProgramResult result = Attune({"heads", "--input", path, "--truncate", "error"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(texts_, ElementsAre("one", "", "three"));
  EXPECT_EQ(truncation_, v1::TRUNCATION_ERROR);
  EXPECT_THAT(result.out, HasSubstr("3 texts, 42 tokens"));
}

TEST_F(HeadsCommandTest, AveragesOverStandardInputAndArguments) {
  EXPECT_EQ(Attune({"heads"}, {.standard_input = "one\ntwo\n"}).exit_code, kOk);
  EXPECT_EQ(Attune({"heads", "three", "four"}).exit_code, kOk);
  EXPECT_THAT(texts_, ElementsAre("one", "two", "three", "four"));
}

TEST_F(HeadsCommandTest, SortsByAStatistic) {
  const std::string by_place = Attune({"heads", "t"}).out;
  const std::string by_entropy = Attune({"heads", "t", "--sort", "entropy"}).out;
  EXPECT_LT(by_place.find("1.25"), by_place.find("2.50"));
  EXPECT_GT(by_entropy.find("1.25"), by_entropy.find("2.50"));
  EXPECT_THAT(by_entropy, HasSubstr("broad"));
}

TEST_F(HeadsCommandTest, WritesJsonAndCsv) {
  const Json json = Json::parse(Attune({"heads", "a", "b", "--json"}).out);
  EXPECT_EQ(json["texts"], 2);
  EXPECT_EQ(json["tokens"], 42);
  EXPECT_EQ(json["statistics"][1]["entropy"], 2.5);
  EXPECT_EQ(json["statistics"][1]["label"], "broad");
  EXPECT_EQ(json["provenance"]["model"], "fake");
  const std::string path = folder_.Path("heads.csv");
  ASSERT_EQ(Attune({"heads", "a", "--csv", "-o", path}).exit_code, kOk);
  EXPECT_THAT(Content(path), AllOf(StartsWith("layer,head,self_mass"), HasSubstr("\n0,1,")));
}

TEST_F(HeadsCommandTest, NamesTheLineThatTheServerRefuses) {
  server_.encoder().head_statistics = [](grpc::ServerContext&, FakeEncoder::TextReader& reader,
                                         v1::HeadStatisticsResponse&) {
    v1::HeadStatisticsRequest request;
    while (reader.Read(&request)) {
    }
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "text 1: query.text is too long");
  };
  const std::string path = File("docs.jsonl", "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n");
  const ProgramResult result = Attune({"heads", "--input", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, HasSubstr("docs.jsonl:3: the text is too long"));
}

TEST_F(HeadsCommandTest, AnUnknownStatisticIsWrongUsage) {
  const ProgramResult result = Attune({"heads", "t", "--sort", "beauty"});
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(result.err, AllOf(HasSubstr("beauty not in {"), HasSubstr("confidence")));
}

TEST_F(HeadsCommandTest, DrawsNoProgressWhereNobodyWatches) {
  const ProgramResult result = Attune({"heads"}, {.standard_input = "one\ntwo\n"});
  EXPECT_THAT(result.err, Not(HasSubstr("texts/s")));
}

}  // namespace
}  // namespace attune
