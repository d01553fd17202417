// Encode through a running server: the vectors, and that they do not depend on company.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/safetensors_writer.h"
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

constexpr int kHidden = 16;

class EncodeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new TinyModel(TinyModelOptions{});
    server_ = new TestServer(TestOptions(model_->path()));
  }
  static void TearDownTestSuite() {
    delete server_;
    delete model_;
  }

  static std::vector<float> Values(const EncodeResult& result, int index) {
    const auto& values = result.response.embeddings(index).values();
    return {values.begin(), values.end()};
  }

  static std::vector<float> EncodeOne(const std::string& text,
                                      const v1::EncodeOptions& options = {}) {
    const EncodeResult result = Encode(server_->stub(), std::vector<std::string>{text}, options);
    EXPECT_THAT(result.status, IsGrpcOk());
    return result.response.embeddings_size() == 1 ? Values(result, 0) : std::vector<float>();
  }

  // Texts of one to a dozen words, in an order that mixes the lengths.
  static std::vector<std::string> MixedTexts(int count) {
    const std::vector<std::string> words = {"the", "cat", "sat", "on", "mat", "dog", "ran", "fast"};
    std::mt19937 random(7);
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) {
      std::string text;
      const int length = 1 + static_cast<int>(random() % 12);
      for (int w = 0; w < length; ++w) text += words[random() % words.size()] + " ";
      texts.push_back(text);
    }
    return texts;
  }

  static TinyModel* model_;
  static TestServer* server_;
};

TinyModel* EncodeTest::model_ = nullptr;
TestServer* EncodeTest::server_ = nullptr;

TEST_F(EncodeTest, AnswersInRequestOrderWithCountsDimensionAndModel) {
  const EncodeResult result = Encode(server_->stub(), {"the cat", "hello", "the dog ran fast !"});
  ASSERT_THAT(result.status, IsGrpcOk());
  ASSERT_EQ(result.response.embeddings_size(), 3);
  EXPECT_EQ(result.response.dimension(), kHidden);
  EXPECT_FALSE(result.response.model().empty());
  EXPECT_EQ(result.response.embeddings(0).tokens(), 4u);
  EXPECT_EQ(result.response.embeddings(1).tokens(), 3u);
  EXPECT_EQ(result.response.embeddings(2).tokens(), 7u);
  EXPECT_EQ(Values(result, 1), EncodeOne("hello"));
}

TEST_F(EncodeTest, ModelsOwnPlanIsMeanPoolingAndLengthOne) {
  const std::vector<float> vector = EncodeOne("the cat sat");
  const double norm =
      std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
  // Rounding of 16 squares: 16 * 2^-24 is about 1e-6.
  EXPECT_NEAR(norm, 1.0, 1e-6);
}

TEST_F(EncodeTest, PoolingOverridesAgreeWithTokenVectors) {
  v1::EncodeOptions options;
  options.set_pooling(v1::POOLING_NONE);
  const std::vector<float> tokens = EncodeOne("the cat sat on the mat", options);
  const size_t seq = tokens.size() / kHidden;
  ASSERT_EQ(seq, 8u);

  options.set_normalize(false);
  options.set_pooling(v1::POOLING_CLS);
  const std::vector<float> cls = EncodeOne("the cat sat on the mat", options);
  options.set_pooling(v1::POOLING_LAST_TOKEN);
  const std::vector<float> last = EncodeOne("the cat sat on the mat", options);
  options.set_pooling(v1::POOLING_MAX);
  const std::vector<float> max = EncodeOne("the cat sat on the mat", options);
  options.set_pooling(v1::POOLING_MEAN);
  const std::vector<float> mean = EncodeOne("the cat sat on the mat", options);
  options.set_pooling(v1::POOLING_WEIGHTED_MEAN);
  const std::vector<float> weighted = EncodeOne("the cat sat on the mat", options);

  for (size_t d = 0; d < kHidden; ++d) {
    double sum = 0;
    double weighted_sum = 0;
    float largest = tokens[d];
    for (size_t t = 0; t < seq; ++t) {
      const float value = tokens[t * kHidden + d];
      sum += value;
      weighted_sum += value * static_cast<double>(t + 1);
      largest = std::max(largest, value);
    }
    const double positions = static_cast<double>(seq * (seq + 1)) / 2;
    EXPECT_EQ(cls[d], tokens[d]);
    EXPECT_EQ(last[d], tokens[(seq - 1) * kHidden + d]);
    EXPECT_EQ(max[d], largest);
    // Eight f32 additions of values below 4: 8 * 4 * 2^-24 is about 2e-6.
    EXPECT_NEAR(mean[d], sum / static_cast<double>(seq), 2e-6);
    EXPECT_NEAR(weighted[d], weighted_sum / positions, 2e-6);
  }
}

TEST_F(EncodeTest, NormalizesTokenVectorsOnlyWhenAsked) {
  v1::EncodeOptions options;
  options.set_pooling(v1::POOLING_NONE);
  const auto norm_of_first = [](const std::vector<float>& tokens) {
    return std::sqrt(
        std::inner_product(tokens.begin(), tokens.begin() + kHidden, tokens.begin(), 0.0));
  };
  EXPECT_GT(std::abs(norm_of_first(EncodeOne("cat", options)) - 1.0), 1e-3);
  options.set_normalize(true);
  EXPECT_NEAR(norm_of_first(EncodeOne("cat", options)), 1.0, 1e-6);
}

TEST_F(EncodeTest, TokenIdsAreTakenAsTheyAre) {
  v1::EncodeRequest request;
  v1::TokenIds& ids = *request.mutable_token_ids()->add_values();
  for (const char* token : {"[CLS]", "the", "cat", "[SEP]"}) {
    ids.add_values(static_cast<uint32_t>(model_->TokenId(token)));
  }
  const EncodeResult result = Encode(server_->stub(), request);
  ASSERT_THAT(result.status, IsGrpcOk());
  EXPECT_EQ(result.response.embeddings(0).tokens(), 4u);
  EXPECT_EQ(Values(result, 0), EncodeOne("the cat"));
}

TEST_F(EncodeTest, C50BlankTextsAreTheSpecialTokensAlone) {
  const std::vector<float> empty = EncodeOne("");
  for (const float value : empty) EXPECT_TRUE(std::isfinite(value));
  for (const char* blank : {" ", "\n\t", "\xe2\x80\x8b", "\xc2\xa0"}) {
    EXPECT_EQ(EncodeOne(blank), empty) << "blank text \"" << blank << '"';
  }
  const EncodeResult result = Encode(server_->stub(), {"cat", "", "dog"});
  ASSERT_THAT(result.status, IsGrpcOk());
  EXPECT_EQ(result.response.embeddings(1).tokens(), 2u);
  EXPECT_EQ(Values(result, 1), empty);
  EXPECT_EQ(Values(result, 2), EncodeOne("dog"));
}

TEST_F(EncodeTest, NulIsAnOrdinaryCharacterNotAnEnd) {
  EXPECT_EQ(EncodeOne(std::string("cat\0 dog", 8)), EncodeOne("cat dog"));
}

TEST_F(EncodeTest, TruncatesOnlyWhenAskedAndSaysSo) {
  std::string longer;
  for (int i = 0; i < 63; ++i) longer += "cat ";  // 65 tokens, one over the 64 positions
  const EncodeResult refused = Encode(server_->stub(), {"cat", longer});
  EXPECT_THAT(refused.status, GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                                           "texts.values[1] has more than 64 tokens"));

  v1::EncodeOptions options;
  options.set_truncation(v1::TRUNCATION_RIGHT);
  const EncodeResult cut = Encode(server_->stub(), {"cat", longer}, options);
  ASSERT_THAT(cut.status, IsGrpcOk());
  EXPECT_FALSE(cut.response.embeddings(0).truncated());
  EXPECT_TRUE(cut.response.embeddings(1).truncated());
  EXPECT_EQ(cut.response.embeddings(1).tokens(), 64u);

  std::string exact;
  for (int i = 0; i < 62; ++i) exact += "cat ";
  const EncodeResult fits = Encode(server_->stub(), std::vector<std::string>{exact}, options);
  ASSERT_THAT(fits.status, IsGrpcOk());
  EXPECT_FALSE(fits.response.embeddings(0).truncated());
  EXPECT_EQ(Values(fits, 0), Values(cut, 1));
}

TEST_F(EncodeTest, TruncationKeepsTheAskedSide) {
  v1::EncodeOptions options;
  options.set_max_tokens(4);
  options.set_truncation(v1::TRUNCATION_RIGHT);
  EXPECT_EQ(EncodeOne("the cat sat on", options), EncodeOne("the cat"));
  options.set_truncation(v1::TRUNCATION_LEFT);
  EXPECT_EQ(EncodeOne("the cat sat on", options), EncodeOne("sat on"));
}

TEST_F(EncodeTest, SpecialTokensCanBeTypedOrBePlainText) {
  v1::EncodeOptions plain;
  plain.set_specials_as_text(true);
  const EncodeResult typed = Encode(server_->stub(), {"cat [SEP] dog"});
  const EncodeResult text = Encode(server_->stub(), {"cat [SEP] dog"}, plain);
  ASSERT_THAT(typed.status, IsGrpcOk());
  ASSERT_THAT(text.status, IsGrpcOk());
  EXPECT_EQ(typed.response.embeddings(0).tokens(), 5u);
  EXPECT_EQ(text.response.embeddings(0).tokens(), 7u);
}

TEST_F(EncodeTest, C57ExpectedDimensionIsCheckedBeforeAnyWork) {
  v1::EncodeOptions options;
  options.set_expected_dimension(768);
  const int64_t before = server_->server().batches_run();
  const EncodeResult result = Encode(server_->stub(), {"cat"}, options);
  EXPECT_THAT(result.status, GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION,
                                          "options.expected_dimension is 768, but model"));
  EXPECT_THAT(result.status, GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION, "gives 16"));
  EXPECT_EQ(server_->server().batches_run(), before);
  options.set_expected_dimension(kHidden);
  EXPECT_THAT(Encode(server_->stub(), {"cat"}, options).status, IsGrpcOk());
}

TEST_F(EncodeTest, C31AVectorIsTheSameAloneInAnyBatchAndInAnyOrder) {
  std::vector<std::string> texts = MixedTexts(100);
  std::vector<std::vector<float>> alone;
  for (const std::string& text : texts) alone.push_back(EncodeOne(text));

  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(11);
  for (const size_t batch : {size_t{7}, size_t{32}, size_t{100}}) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t begin = 0; begin < order.size(); begin += batch) {
      const size_t end = std::min(order.size(), begin + batch);
      std::vector<std::string> request;
      for (size_t i = begin; i < end; ++i) request.push_back(texts[order[i]]);
      const EncodeResult result = Encode(server_->stub(), request);
      ASSERT_THAT(result.status, IsGrpcOk());
      for (size_t i = begin; i < end; ++i) {
        EXPECT_EQ(Values(result, static_cast<int>(i - begin)), alone[order[i]])
            << "batch of " << batch << ", text \"" << texts[order[i]] << '"';
      }
    }
  }
}

TEST_F(EncodeTest, SharingALoneRequestOutChangesNoBit) {
  ServerOptions options = TestOptions(model_->path());
  options.split_lone_requests = false;
  TestServer unshared(options);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  const EncodeResult expected = Encode(unshared.stub(), std::vector<std::string>{text});
  ASSERT_THAT(expected.status, IsGrpcOk());
  for (int i = 0; i < 50; ++i) ASSERT_EQ(EncodeOne(text), Values(expected, 0));
}

TEST_F(EncodeTest, C31OneTextFiftyTimesGivesOneVector) {
  const EncodeResult result =
      Encode(server_->stub(), std::vector<std::string>(50, "the dog ran on the mat"));
  ASSERT_THAT(result.status, IsGrpcOk());
  for (int i = 1; i < 50; ++i) EXPECT_EQ(Values(result, i), Values(result, 0));
}

// "dog" alone has a word vector that overflows the variance of its layer norm.
std::string WeightsWithAnOverflow(const TinyModel& model) {
  std::vector<testing::TensorToWrite> tensors;
  for (testing::TinyTensor& tensor : testing::TinyTensors(model.options())) {
    if (tensor.name == "embeddings.word_embeddings.weight") {
      const auto row = static_cast<size_t>(model.TokenId("dog"));
      for (size_t d = 0; d < kHidden; ++d) {
        tensor.values[row * kHidden + d] = d % 2 == 0 ? 3e38f : -3e38f;
      }
    }
    tensors.push_back(
        {tensor.name, "F32", tensor.shape, testing::EncodeValues("F32", tensor.values)});
  }
  return testing::SafetensorsBytes(tensors);
}

TEST_F(EncodeTest, C28ANonFiniteVectorIsAnErrorThatNamesItsItemAndHarmsNoOther) {
  const TinyModel model;
  model.dir().Write("model.safetensors", WeightsWithAnOverflow(model));
  TestServer server(TestOptions(model.path()));
  EXPECT_THAT(Encode(server.stub(), {"the cat", "the dog", "hello"}).status,
              GrpcStatusIs(grpc::StatusCode::INTERNAL, "item 1: the text vector is not finite"));
  EXPECT_THAT(Encode(server.stub(), {"the cat", "hello"}).status, IsGrpcOk());
}

TEST_F(EncodeTest, ManyClientsAtOnceEachGetTheirOwnAnswer) {
  const std::vector<std::string> texts = MixedTexts(8);
  std::vector<std::vector<float>> expected;
  for (const std::string& text : texts) expected.push_back(EncodeOne(text));
  std::vector<std::thread> clients;
  for (size_t c = 0; c < texts.size(); ++c) {
    clients.emplace_back([&, c] {
      const auto stub = v1::EncoderService::NewStub(server_->NewChannel());
      for (int i = 0; i < 25; ++i) {
        const EncodeResult result = Encode(*stub, std::vector<std::string>{texts[c]});
        ASSERT_THAT(result.status, IsGrpcOk());
        EXPECT_EQ(Values(result, 0), expected[c]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(EncodeTest, LargeRequestsGoByWayOfATokenizerThreadAndGiveTheSameVectors) {
  // More than 8 KiB of text in all.
  std::vector<std::string> texts = MixedTexts(1'000);
  const EncodeResult result = Encode(server_->stub(), texts);
  ASSERT_THAT(result.status, IsGrpcOk());
  for (const int i : {0, 499, 999}) {
    EXPECT_EQ(Values(result, i), EncodeOne(texts[static_cast<size_t>(i)]));
  }
}

}  // namespace
}  // namespace attune
