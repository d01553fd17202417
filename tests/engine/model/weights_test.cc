#include "engine/model/weights.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::EncodeValues;
using ::attune::testing::IsOk;
using ::attune::testing::IsOkAndHolds;
using ::attune::testing::SafetensorsBytes;
using ::attune::testing::StatusIs;
using ::attune::testing::TensorToWrite;
using ::attune::testing::TinyFileTensors;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::TinyTensor;
using ::attune::testing::TinyTensors;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr char kKeyWeight[] = "encoder.layer.1.attention.self.key.weight";
constexpr char kFirstShard[] = "model-00001-of-00002.safetensors";
constexpr char kSecondShard[] = "model-00002-of-00002.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

absl::StatusOr<ModelWeights> Load(const TinyModel& model) {
  const absl::StatusOr<ModelConfig> config = ParseModelConfig(model.dir().Read("config.json"));
  if (!config.ok()) return config.status();
  return LoadWeights(model.path(), *config);
}

// Every value of every matrix, in one order.
std::vector<float> Flatten(const ModelWeights& weights) {
  std::vector<float> all;
  const auto add = [&all](const Matrix& matrix) {
    all.insert(all.end(), matrix.span().begin(), matrix.span().end());
  };
  add(weights.word_embeddings);
  add(weights.position_embeddings);
  add(weights.type_embeddings);
  add(weights.embedding_norm.gamma);
  add(weights.embedding_norm.beta);
  for (const LayerWeights& layer : weights.layers) {
    for (const LinearWeights* linear :
         {&layer.qkv, &layer.attention_output, &layer.ffn_input, &layer.ffn_output}) {
      add(linear->weights);
      add(linear->bias);
    }
    for (const LayerNormWeights* norm : {&layer.attention_norm, &layer.ffn_norm}) {
      add(norm->gamma);
      add(norm->beta);
    }
  }
  return all;
}

// The weights' values of a model written with `options`.
std::vector<float> FlattenedModel(const TinyModelOptions& options) {
  const absl::StatusOr<ModelWeights> weights = Load(TinyModel(options));
  EXPECT_THAT(weights, IsOk());
  return weights.ok() ? Flatten(*weights) : std::vector<float>();
}

// A model whose tensors `change` has been at. Its file is one and in F32.
template <typename Function>
absl::StatusOr<ModelWeights> LoadChanged(Function change) {
  const TinyModel model;
  std::vector<TensorToWrite> tensors = TinyFileTensors(model.options());
  change(tensors);
  model.dir().Write("model.safetensors", SafetensorsBytes(tensors));
  return Load(model);
}

TensorToWrite& Find(std::vector<TensorToWrite>& tensors, absl::string_view name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [name](const TensorToWrite& tensor) { return tensor.name == name; });
}

// ---- Right models -------------------------------------------------------------------------------

TEST(WeightsTest, PutsEveryTensorInItsPlace) {
  const TinyModel model({.hidden = 8, .ffn = 12});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelWeights weights, Load(model));
  absl::btree_map<std::string, std::vector<float>> expected;
  for (TinyTensor& tensor : TinyTensors(model.options())) {
    expected[tensor.name] = std::move(tensor.values);
  }
  const auto is = [&expected](absl::string_view name) {
    return ElementsAreArray(expected.at(std::string(name)));
  };
  EXPECT_THAT(weights.word_embeddings.span(), is("embeddings.word_embeddings.weight"));
  EXPECT_THAT(weights.position_embeddings.span(), is("embeddings.position_embeddings.weight"));
  EXPECT_THAT(weights.type_embeddings.span(), is("embeddings.token_type_embeddings.weight"));
  EXPECT_THAT(weights.embedding_norm.gamma.span(), is("embeddings.LayerNorm.weight"));
  EXPECT_THAT(weights.embedding_norm.beta.span(), is("embeddings.LayerNorm.bias"));
  ASSERT_THAT(weights.layers, SizeIs(2));
  for (int l = 0; l < 2; ++l) {
    const LayerWeights& layer = weights.layers[static_cast<size_t>(l)];
    const std::string prefix = absl::StrCat("encoder.layer.", l, ".");
    const auto linear_is = [&](const LinearWeights& linear, const std::string& name) {
      EXPECT_THAT(linear.weights.span(), is(prefix + name + ".weight"));
      EXPECT_THAT(linear.bias.span(), is(prefix + name + ".bias"));
    };
    const auto norm_is = [&](const LayerNormWeights& norm, const std::string& name) {
      EXPECT_THAT(norm.gamma.span(), is(prefix + name + ".weight"));
      EXPECT_THAT(norm.beta.span(), is(prefix + name + ".bias"));
    };
    linear_is(layer.attention_output, "attention.output.dense");
    norm_is(layer.attention_norm, "attention.output.LayerNorm");
    linear_is(layer.ffn_input, "intermediate.dense");
    linear_is(layer.ffn_output, "output.dense");
    norm_is(layer.ffn_norm, "output.LayerNorm");

    // Queries, keys and values lie one above the other.
    EXPECT_EQ(layer.qkv.weights.rows(), 24);
    EXPECT_EQ(layer.qkv.weights.cols(), 8);
    EXPECT_EQ(layer.qkv.bias.rows(), 1);
    EXPECT_EQ(layer.qkv.bias.cols(), 24);
    size_t part = 0;
    for (const char* name : {"query", "key", "value"}) {
      const std::string self = absl::StrCat(prefix, "attention.self.", name);
      EXPECT_THAT(layer.qkv.weights.span().subspan(part * 64, 64), is(self + ".weight"));
      EXPECT_THAT(layer.qkv.bias.span().subspan(part * 8, 8), is(self + ".bias"));
      ++part;
    }
  }
  EXPECT_EQ(weights.layers[0].ffn_input.weights.rows(), 12);
  EXPECT_EQ(weights.layers[0].ffn_output.weights.cols(), 12);
}

TEST(WeightsTest, C44AllTensorNameSpellingsGiveTheSameWeights) {
  const std::vector<float> bare = FlattenedModel({});
  EXPECT_THAT(bare, Not(SizeIs(0)));
  for (const char* prefix : {"", "bert.", "model.", "0.auto_model.", "roberta."}) {
    for (bool gamma_beta : {false, true}) {
      EXPECT_EQ(FlattenedModel({.prefix = prefix, .gamma_beta = gamma_beta}), bare)
          << "prefix \"" << prefix << "\", gamma_beta " << gamma_beta;
    }
  }
}

TEST(WeightsTest, C44IgnoresPositionIdsPoolerAndHeadsAndListsThemOnce) {
  const std::vector<float> without = FlattenedModel({});
  for (const char* prefix : {"", "bert."}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(FlattenedModel({.prefix = prefix, .unused_tensors = true}), without);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, AllOf(HasSubstr("embeddings.position_ids"), HasSubstr("pooler.dense.bias"),
                           HasSubstr("cls.predictions.bias"), HasSubstr("\"count\":3")));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
  }
}

TEST(WeightsTest, C44ShardsGiveTheSameWeightsAsOneFile) {
  const std::vector<float> one = FlattenedModel({});
  for (int shards : {2, 3, 7}) EXPECT_EQ(FlattenedModel({.shards = shards}), one) << shards;
}

TEST(WeightsTest, C44LeavesAStraySafetensorsFileAlone) {
  const TinyModel model({.shards = 2});
  const std::vector<float> expected = FlattenedModel({});
  std::vector<TensorToWrite> other = TinyFileTensors({.seed = 2});
  model.dir().Write("adapter.safetensors", SafetensorsBytes(other));
  model.dir().Write("model-00003-of-00002.safetensors", "not even safetensors");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelWeights weights, Load(model));
  EXPECT_EQ(Flatten(weights), expected);
}

TEST(WeightsTest, C47F16Bf16AndMixedFilesGiveBitIdenticalWeights) {
  const std::vector<float> f32 = FlattenedModel({});
  for (const char* dtype : {"F16", "BF16", "mixed"}) {
    EXPECT_EQ(FlattenedModel({.dtype = dtype}), f32) << dtype;
  }
}

TEST(WeightsTest, ListsTheFilesItReads) {
  EXPECT_THAT(WeightFiles(TinyModel().path()), IsOkAndHolds(ElementsAre("model.safetensors")));
  EXPECT_THAT(WeightFiles(TinyModel({.shards = 2}).path()),
              IsOkAndHolds(ElementsAre(kFirstShard, kSecondShard, kIndex)));
}

// ---- Missing, surplus and mis-shaped tensors ----------------------------------------------------

TEST(WeightsTest, RefusesAMissingTensorByName) {
  for (const TinyTensor& tensor : TinyTensors({})) {
    EXPECT_THAT(
        LoadChanged([&](std::vector<TensorToWrite>& tensors) {
          Find(tensors, tensor.name).name = "something.else";
        }),
        StatusIs(kNotFound, AllOf(HasSubstr("model.safetensors"),
                                  HasSubstr(absl::StrCat("no tensor \"", tensor.name, "\"")))));
  }
}

TEST(WeightsTest, RefusesAMisShapedTensorNamingExpectedAndFound) {
  for (const TinyTensor& tensor : TinyTensors({})) {
    EXPECT_THAT(LoadChanged([&](std::vector<TensorToWrite>& tensors) {
                  TensorToWrite& wrong = Find(tensors, tensor.name);
                  wrong.shape.push_back(1);  // as many bytes, but another shape
                }),
                StatusIs(kInvalid, AllOf(HasSubstr(tensor.name), HasSubstr("has shape ["),
                                         HasSubstr("; config.json asks for ["))));
  }
  EXPECT_THAT(LoadChanged([](std::vector<TensorToWrite>& tensors) {
                Find(tensors, "encoder.layer.0.output.dense.weight").shape = {32, 16};
              }),
              StatusIs(kInvalid, HasSubstr("has shape [32, 16]; config.json asks for [16, 32]")));
}

TEST(WeightsTest, C43RefusesAVocabularySizeOtherThanTheRowsOfTheTable) {
  const TinyModel model;
  const std::string config = model.dir().Read("config.json");
  model.dir().Write("config.json",
                    absl::StrReplaceAll(config, {{"\"vocab_size\":23", "\"vocab_size\":25"}}));
  EXPECT_THAT(
      Load(model),
      StatusIs(kInvalid, HasSubstr("embeddings.word_embeddings.weight\" has shape [23, 16]; "
                                   "config.json asks for [25, 16]")));
}

TEST(WeightsTest, HugeSizesInTheConfigAreRefusedBeforeMemoryIsTaken) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(ModelConfig config,
                              ParseModelConfig(model.dir().Read("config.json")));
  config.vocab = int64_t{1} << 22;  // 256 TiB of word table, if it were allocated
  config.hidden = 16'384;
  EXPECT_THAT(LoadWeights(model.path(), config), StatusIs(kInvalid, HasSubstr("[4194304, 16384]")));
}

TEST(WeightsTest, RefusesASurplusTensorInsideTheEncoder) {
  const TensorToWrite surplus[] = {
      // One layer more than config.json says; relative positions; a gate that BERT does not have.
      {"encoder.layer.2.output.dense.bias", "F32", {16}, ""},
      {"encoder.layer.0.attention.self.distance_embedding.weight", "F32", {1}, ""},
      {"bert.encoder.layer.0.mlp.gated_layers.weight", "F32", {1}, ""},
      {"embeddings.norm.weight", "F32", {1}, ""}};
  for (TensorToWrite tensor : surplus) {
    tensor.data.resize(static_cast<size_t>(tensor.shape[0]) * 4);
    EXPECT_THAT(
        LoadChanged([&](std::vector<TensorToWrite>& tensors) { tensors.push_back(tensor); }),
        StatusIs(kInvalid,
                 AllOf(HasSubstr(tensor.name), HasSubstr("has no place in the encoder"))));
  }
}

TEST(WeightsTest, C44RefusesATensorGivenTwiceUnlessItIsTheSame) {
  const auto twice = [](float change) {
    return LoadChanged([change](std::vector<TensorToWrite>& tensors) {
      TensorToWrite again = Find(tensors, kKeyWeight);
      again.name = absl::StrCat("bert.", kKeyWeight);
      again.data.replace(0, 4, EncodeValues("F32", {change}));
      tensors.push_back(again);
    });
  };
  const float first = [] {
    for (const TinyTensor& tensor : TinyTensors({})) {
      if (tensor.name == kKeyWeight) return tensor.values[0];
    }
    return 0.0f;
  }();
  EXPECT_THAT(twice(first), IsOk());
  EXPECT_THAT(twice(first + 1),
              StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("\"bert.", kKeyWeight, "\"")),
                                       HasSubstr("differs from the same weights in"))));
}

TEST(WeightsTest, C44RefusesTwoSpellingsOfOneNormThatDiffer) {
  EXPECT_THAT(LoadChanged([](std::vector<TensorToWrite>& tensors) {
                TensorToWrite again = Find(tensors, "embeddings.LayerNorm.weight");
                again.name = "embeddings.LayerNorm.gamma";
                again.data = std::string(64, '\0');
                tensors.push_back(again);
              }),
              StatusIs(kInvalid, HasSubstr("differs from the same weights in")));
}

// ---- Bad values ---------------------------------------------------------------------------------

TEST(WeightsTest, C47RefusesNanAndInfiniteWeightsByTensorName) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(LoadChanged([bad](std::vector<TensorToWrite>& tensors) {
                  Find(tensors, kKeyWeight).data.replace(8, 4, EncodeValues("F32", {bad}));
                }),
                StatusIs(kInvalid, AllOf(HasSubstr(kKeyWeight), HasSubstr("at element 2"))));
  }
}

TEST(WeightsTest, C47RefusesUnsupportedDtypesByTensorName) {
  for (const char* dtype : {"F64", "I64"}) {
    EXPECT_THAT(
        LoadChanged([dtype](std::vector<TensorToWrite>& tensors) {
          TensorToWrite& tensor = Find(tensors, kKeyWeight);
          tensor.dtype = dtype;
          tensor.data += std::string(tensor.data);
        }),
        StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr(kKeyWeight), HasSubstr(dtype))));
  }
}

// ---- Files --------------------------------------------------------------------------------------

TEST(WeightsTest, SaysWhichFilesItLookedFor) {
  const TinyModel model;
  model.dir().Remove("model.safetensors");
  model.dir().Write("pytorch_model.bin", "pickle");
  EXPECT_THAT(Load(model), StatusIs(kNotFound, HasSubstr("has neither model.safetensors nor "
                                                         "model.safetensors.index.json")));
}

TEST(WeightsTest, C44RefusesAMissingShardByName) {
  const TinyModel model({.shards = 2});
  model.dir().Remove(kSecondShard);
  EXPECT_THAT(Load(model), StatusIs(kNotFound, HasSubstr(kSecondShard)));
}

TEST(WeightsTest, C44RefusesATensorThatTheIndexPromisesAndTheShardLacks) {
  const TinyModel model({.shards = 2});
  const std::string index = model.dir().Read(kIndex);
  model.dir().Write(
      kIndex,
      absl::StrReplaceAll(
          index, {{"{\"embeddings.", absl::StrCat("{\"x\":\"", kFirstShard, "\",\"embeddings.")}}));
  EXPECT_THAT(Load(model), StatusIs(kNotFound, AllOf(HasSubstr(kFirstShard),
                                                     HasSubstr("no tensor \"x\", which"))));
}

TEST(WeightsTest, RefusesAnIndexThatPointsOutOfTheFolderOrIsMalformed) {
  const TinyModel model({.shards = 2});
  const std::pair<const char*, const char*> indexes[] = {
      {R"({"weight_map":{"a":"../model.safetensors"}})", "leaves the model folder"},
      {R"({"weight_map":{"a":"/etc/passwd"}})", "not relative to the model folder"},
      {R"({"weight_map":{"a":3}})", "not a string"},
      {R"({"weight_map":{}})", "\"weight_map\" is not an object"},
      {R"({"weight_map":["a"]})", "\"weight_map\" is not an object"},
      {R"({})", "\"weight_map\" is not an object"},
      {R"([])", "not a JSON object"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "duplicate key"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"}};
  for (const auto& [index, reason] : indexes) {
    model.dir().Write(kIndex, index);
    EXPECT_THAT(Load(model), StatusIs(kInvalid, HasSubstr(reason))) << index;
  }
}

TEST(WeightsTest, C46RefusesAGitLfsPointerAndAPartialFile) {
  const TinyModel model;
  const std::string whole = model.dir().Read("model.safetensors");
  model.dir().Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid ...");
  EXPECT_THAT(Load(model), StatusIs(kInvalid, HasSubstr("looks like a Git LFS pointer")));
  model.dir().Write("model.safetensors", whole.substr(0, whole.size() - 1'000));
  EXPECT_THAT(Load(model), StatusIs(kInvalid, HasSubstr("the file is incomplete")));
}

TEST(WeightsTest, RefusesALinkOutOfTheFolderAndADirectory) {
  const TinyModel model;
  const TinyModel other;
  model.dir().Remove("model.safetensors");
  std::filesystem::create_symlink(other.dir().Path("model.safetensors"),
                                  model.dir().Path("model.safetensors"));
  EXPECT_THAT(Load(model), StatusIs(kInvalid, HasSubstr("outside the model folder")));
  model.dir().Remove("model.safetensors");
  std::filesystem::create_directory(model.dir().Path("model.safetensors"));
  EXPECT_THAT(Load(model), StatusIs(kInvalid, HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace attune
