#include "engine/model/model_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/sha256.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr char kPoolingConfig[] = "1_Pooling/config.json";

// The tiny model with `file` holding `content`.
absl::StatusOr<ModelFolder> OpenWith(absl::string_view file, absl::string_view content,
                                     const TinyModelOptions& options = {}) {
  const TinyModel model(options);
  model.dir().Write(file, content);
  return OpenModelFolder(model.path());
}

std::string Modules(const std::vector<std::pair<std::string, std::string>>& types_and_paths) {
  std::string json = "[";
  int idx = 0;
  for (const auto& [type, path] : types_and_paths) {
    absl::StrAppend(&json, idx == 0 ? "" : ",", "{\"idx\":", idx, ",\"name\":\"", idx,
                    "\",\"path\":\"", path, "\",\"type\":\"", type, "\"}");
    ++idx;
  }
  return json + "]";
}

// ---- modules.json -------------------------------------------------------------------------------

TEST(ModelFolderTest, ReadsASentenceTransformersFolder) {
  const TinyModel model({.max_seq_length = 32});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(model.path()));
  EXPECT_EQ(folder.path, model.path());
  EXPECT_EQ(folder.transformer_path, model.path());
  EXPECT_EQ(folder.name, fs::path(model.path()).filename());
  EXPECT_EQ(folder.config.hidden, 16);
  EXPECT_THAT(folder.pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_TRUE(folder.normalize);
  EXPECT_FALSE(folder.lower_case_first);
  EXPECT_EQ(folder.max_tokens, 32);
  EXPECT_EQ(folder.dimension(), 16);
}

TEST(ModelFolderTest, WithoutModulesPoolsTheMeanAndDoesNotNormalise) {
  const TinyModel model({.modules = false});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(model.path()));
  EXPECT_THAT(folder.pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_FALSE(folder.normalize);
}

TEST(ModelFolderTest, NormalizeHappensOnlyWhereAModuleAsksForIt) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder,
                              OpenModelFolder(TinyModel({.normalize = false}).path()));
  EXPECT_FALSE(folder.normalize);
}

TEST(ModelFolderTest, MatchesModulesByTheLastPartOfTheirType) {
  EXPECT_THAT(OpenWith("modules.json",
                       Modules({{"sentence_transformers.base.modules.transformer.Transformer", ""},
                                {"Pooling", "1_Pooling"},
                                {"somewhere.else.Normalize", "2_Normalize"}})),
              IsOk());
}

TEST(ModelFolderTest, FindsTheTransformerInItsOwnFolder) {
  const TempDir dir;
  const TinyModel model({.max_seq_length = 48});
  fs::create_directories(dir.Path("0_Transformer"));
  fs::copy(model.path(), dir.Path("0_Transformer"), fs::copy_options::recursive);
  dir.Write("modules.json",
            Modules({{"x.Transformer", "0_Transformer"}, {"x.Pooling", "1_Pooling"}}));
  dir.Write(kPoolingConfig, model.dir().Read(kPoolingConfig));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(dir.path()));
  EXPECT_EQ(folder.transformer_path, dir.Path("0_Transformer"));
  EXPECT_EQ(folder.max_tokens, 48);
  EXPECT_FALSE(folder.normalize);
}

TEST(ModelFolderTest, RefusesModulesThatAreNotBuilt) {
  for (const char* type : {"Dense", "LayerNorm", "CLIPModel", "", "Transformer2"}) {
    EXPECT_THAT(
        OpenWith("modules.json", Modules({{"x.Transformer", ""},
                                          {"x.Pooling", "1_Pooling"},
                                          {absl::StrCat("x.", type), "2_X"}})),
        StatusIs(kUnimplemented, AllOf(HasSubstr("modules.json: module 2"),
                                       HasSubstr(absl::StrCat("\"type\" is \"x.", type, "\"")))));
  }
}

TEST(ModelFolderTest, RefusesModulesInAnOrderThatMakesNoSense) {
  const std::string t = "x.Transformer", p = "x.Pooling", n = "x.Normalize";
  const std::vector<std::vector<std::pair<std::string, std::string>>> orders = {
      {},
      {{t, ""}},
      {{p, "1_Pooling"}, {t, ""}},
      {{t, ""}, {n, ""}, {p, "1_Pooling"}},
      {{t, ""}, {p, "1_Pooling"}, {p, "1_Pooling"}},
      {{t, ""}, {p, "1_Pooling"}, {n, ""}, {n, ""}}};
  for (const auto& order : orders) {
    EXPECT_THAT(OpenWith("modules.json", Modules(order)),
                StatusIs(kInvalid, HasSubstr("they must be Transformer, Pooling and optionally")));
  }
}

TEST(ModelFolderTest, RefusesModulePathsThatLeaveTheFolder) {
  for (const char* path : {"/etc", "../other", "1_Pooling/../../x"}) {
    EXPECT_THAT(OpenWith("modules.json", Modules({{"x.Transformer", ""}, {"x.Pooling", path}})),
                StatusIs(kInvalid, AllOf(HasSubstr("modules.json: module 1"),
                                         HasSubstr("the model folder"))));
    // Even where nothing would be read from there.
    EXPECT_THAT(
        OpenWith(
            "modules.json",
            Modules({{"x.Transformer", ""}, {"x.Pooling", "1_Pooling"}, {"x.Normalize", path}})),
        StatusIs(kInvalid, HasSubstr("modules.json: module 2")));
  }
}

TEST(ModelFolderTest, RefusesMalformedModules) {
  const std::pair<const char*, const char*> files[] = {
      {"{}", "not an array"},
      {"[1]", "module 0: it is not an object"},
      {R"([{"idx":1,"path":"","type":"x.Transformer"}])", "\"idx\" is 1"},
      {R"([{"idx":0,"path":3,"type":"x.Transformer"}])", "\"path\" is 3"},
      {R"([{"idx":0,"path":"","type":["x.Transformer"]}])", "\"type\" is [\"x.Transformer\"]"},
      {"[", "not valid JSON"},
      {R"([{"idx":0,"idx":0}])", "duplicate key"}};
  for (const auto& [content, reason] : files) {
    EXPECT_THAT(OpenWith("modules.json", content),
                StatusIs(kInvalid, AllOf(HasSubstr("modules.json"), HasSubstr(reason))));
  }
}

// ---- Pooling ------------------------------------------------------------------------------------

TEST(ModelFolderTest, C26ReadsTheBooleansOfOlderFilesInTheirFixedOrder) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder cls,
                              OpenModelFolder(TinyModel({.pooling = {"cls"}}).path()));
  EXPECT_THAT(cls.pooling, ElementsAre(PoolingMode::kCls));
  // Several are concatenated, whatever their order in the file.
  const TinyModel all(
      {.pooling = {"lasttoken", "weightedmean", "mean_sqrt_len_tokens", "mean", "max", "cls"}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(all.path()));
  EXPECT_THAT(folder.pooling, ElementsAre(PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kMean,
                                          PoolingMode::kMeanSqrtLen, PoolingMode::kWeightedMean,
                                          PoolingMode::kLastToken));
  EXPECT_EQ(folder.dimension(), 6 * 16);
}

TEST(ModelFolderTest, C26ReadsPoolingModeListsInTheOrderListed) {
  const TinyModel model({.pooling = {"mean", "cls"}, .pooling_flags = false});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(model.path()));
  EXPECT_THAT(folder.pooling, ElementsAre(PoolingMode::kMean, PoolingMode::kCls));
  EXPECT_EQ(folder.dimension(), 32);
}

TEST(ModelFolderTest, C26ReadsAPoolingModeString) {
  const std::pair<const char*, PoolingMode> names[] = {
      {"cls", PoolingMode::kCls},
      {"max", PoolingMode::kMax},
      {"mean", PoolingMode::kMean},
      {"mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
      {"weightedmean", PoolingMode::kWeightedMean},
      {"lasttoken", PoolingMode::kLastToken}};
  for (const auto& [name, mode] : names) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(
        const ModelFolder folder,
        OpenWith(kPoolingConfig, absl::StrCat("{\"pooling_mode\":\"", name, "\"}")));
    EXPECT_THAT(folder.pooling, ElementsAre(mode)) << name;
  }
}

TEST(ModelFolderTest, C26RefusesAPoolingConfigThatPoolsNothing) {
  for (const char* content :
       {"{}", R"({"pooling_mode":[]})", R"({"pooling_mode_mean_tokens":false})"}) {
    EXPECT_THAT(
        OpenWith(kPoolingConfig, content),
        StatusIs(kInvalid, AllOf(HasSubstr(kPoolingConfig), HasSubstr("no pooling mode is on"))));
  }
}

TEST(ModelFolderTest, C26RefusesUnknownPoolingModes) {
  for (const char* content :
       {R"({"pooling_mode":"attention"})", R"({"pooling_mode":["mean","Mean"]})",
        R"({"pooling_mode":3})", R"({"pooling_mode_mean_tokens":true,"pooling_mode_new":true})"}) {
    EXPECT_THAT(OpenWith(kPoolingConfig, content),
                StatusIs(kUnimplemented, HasSubstr(kPoolingConfig)))
        << content;
  }
}

TEST(ModelFolderTest, RefusesMalformedPooling) {
  const std::pair<const char*, const char*> files[] = {
      {R"({"pooling_mode_mean_tokens":1})", "must be true or false"},
      {R"({"pooling_mode":["mean","mean"]})", "lists \"mean\" twice"},
      {R"({"pooling_mode":["cls","max","mean","cls","max","mean","cls"]})", "lists 7 modes"},
      {R"({"pooling_mode":"mean","include_prompt":"yes"})", "\"include_prompt\" is \"yes\""},
      {R"({"pooling_mode":"mean","word_embedding_dimension":384})",
       "\"word_embedding_dimension\" is 384; it must be an integer from 16 to 16"},
      {R"({"pooling_mode":"mean","embedding_dimension":8})", "\"embedding_dimension\" is 8"},
      {"[]", "not a JSON object"}};
  for (const auto& [content, reason] : files) {
    EXPECT_THAT(OpenWith(kPoolingConfig, content),
                StatusIs(kInvalid, AllOf(HasSubstr(kPoolingConfig), HasSubstr(reason))));
  }
}

TEST(ModelFolderTest, RefusesAMissingPoolingConfig) {
  const TinyModel model;
  model.dir().Remove("1_Pooling");
  EXPECT_THAT(OpenModelFolder(model.path()), StatusIs(kNotFound, HasSubstr(kPoolingConfig)));
}

// ---- The longest text ---------------------------------------------------------------------------

TEST(ModelFolderTest, C24MaxSeqLengthWins) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const ModelFolder folder,
      OpenModelFolder(TinyModel({.max_seq_length = 40, .model_max_length = 20}).path()));
  EXPECT_EQ(folder.max_tokens, 40);
}

TEST(ModelFolderTest, C24WithoutMaxSeqLengthTheSmallerOfPositionsAndModelMaxLengthHolds) {
  const auto max_tokens = [](std::optional<int64_t> model_max_length) {
    const auto folder = OpenModelFolder(TinyModel({.model_max_length = model_max_length}).path());
    return folder.ok() ? folder->max_tokens : -1;
  };
  EXPECT_EQ(max_tokens(20), 20);
  EXPECT_EQ(max_tokens(64), 64);
  EXPECT_EQ(max_tokens(65), 64);
  EXPECT_EQ(max_tokens(std::nullopt), 64);
}

TEST(ModelFolderTest, C24AHugeModelMaxLengthMeansUnset) {
  for (const char* value : {"1000000000000000019884624838656", "1e30", "1000000000",
                            "18446744073709551615", "18446744073709551616", "1e9", "null"}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(
        const ModelFolder folder,
        OpenWith("tokenizer_config.json", absl::StrCat("{\"model_max_length\":", value, "}")));
    EXPECT_EQ(folder.max_tokens, 64) << value;
  }
}

TEST(ModelFolderTest, C24RefusesAModelMaxLengthThatIsNoLength) {
  for (const char* value : {"0", "-1", "\"512\"", "512.5", "true", "-1e30", "[512]"}) {
    EXPECT_THAT(
        OpenWith("tokenizer_config.json", absl::StrCat("{\"model_max_length\":", value, "}")),
        StatusIs(kInvalid,
                 AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("\"model_max_length\" is "))))
        << value;
  }
}

TEST(ModelFolderTest, C24NoLimitReachesBeyondThePositionTable) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder,
                              OpenModelFolder(TinyModel({.max_seq_length = 4096}).path()));
  EXPECT_EQ(folder.max_tokens, 64);
}

TEST(ModelFolderTest, C24RefusesALimitThatLeavesNoRoomForAToken) {
  EXPECT_THAT(OpenModelFolder(TinyModel({.max_seq_length = 2}).path()),
              StatusIs(kInvalid, HasSubstr("texts may have only 2 tokens")));
  EXPECT_THAT(OpenModelFolder(TinyModel({.max_seq_length = 3}).path()), IsOk());
}

TEST(ModelFolderTest, ReadsEverySpellingOfTheSentenceConfig) {
  for (const char* name :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder,
                                OpenWith(absl::StrCat("sentence_", name, "_config.json"),
                                         R"({"max_seq_length":10,"do_lower_case":true})"));
    EXPECT_EQ(folder.max_tokens, 10) << name;
    EXPECT_TRUE(folder.lower_case_first) << name;
  }
}

TEST(ModelFolderTest, RefusesAMalformedSentenceConfig) {
  for (const char* content : {R"({"max_seq_length":0})", R"({"max_seq_length":"256"})",
                              R"({"max_seq_length":1e30})", R"({"do_lower_case":1})", "[]", "{"}) {
    EXPECT_THAT(OpenWith("sentence_bert_config.json", content),
                StatusIs(kInvalid, HasSubstr("sentence_bert_config.json")))
        << content;
  }
  EXPECT_THAT(OpenWith("sentence_bert_config.json", R"({"max_seq_length":null})"), IsOk());
}

// ---- Files that are not what they should be -----------------------------------------------------

TEST(ModelFolderTest, NamesAFolderOrConfigThatIsNotThere) {
  const TempDir dir;
  EXPECT_THAT(OpenModelFolder(dir.Path("absent")),
              StatusIs(kNotFound, AllOf(HasSubstr("absent"), HasSubstr("does not exist"))));
  EXPECT_THAT(OpenModelFolder(dir.path()), StatusIs(kNotFound, HasSubstr("config.json")));
}

TEST(ModelFolderTest, ErrorsInTheConfigNameTheFile) {
  EXPECT_THAT(OpenWith("config.json", R"({"model_type":"bert","vocab_size":"many"})"),
              StatusIs(kInvalid, AllOf(HasSubstr("/config.json"), HasSubstr("\"vocab_size\""))));
}

TEST(ModelFolderTest, RefusesFilesThatAreNotRegular) {
  for (const char* name : {"config.json", "modules.json", "tokenizer_config.json",
                           "model.safetensors", "vocab.txt", "special_tokens_map.json"}) {
    const TinyModel fifo;
    std::error_code ignored;
    fs::remove(fifo.dir().Path(name), ignored);
    ASSERT_EQ(mkfifo(fifo.dir().Path(name).c_str(), 0600), 0);
    EXPECT_THAT(OpenModelFolder(fifo.path()),
                StatusIs(kInvalid, HasSubstr(absl::StrCat(name, " is not a regular file"))));
    const TinyModel folder;
    fs::remove(folder.dir().Path(name), ignored);
    fs::create_directory(folder.dir().Path(name));
    EXPECT_THAT(OpenModelFolder(folder.path()),
                StatusIs(kInvalid, HasSubstr(absl::StrCat(name, " is not a regular file"))));
  }
}

TEST(ModelFolderTest, RefusesLinksOutOfTheFolder) {
  for (const char* name : {"config.json", "modules.json", "tokenizer_config.json", kPoolingConfig,
                           "model.safetensors", "vocab.txt"}) {
    const TinyModel model;
    const TempDir elsewhere;
    elsewhere.Write("file", model.dir().Read(name));
    model.dir().Remove(name);
    fs::create_symlink(elsewhere.Path("file"), model.dir().Path(name));
    EXPECT_THAT(OpenModelFolder(model.path()),
                StatusIs(kInvalid, AllOf(HasSubstr(name), HasSubstr("outside the model folder"))));
  }
}

TEST(ModelFolderTest, ADanglingLinkIsAnErrorAndNotAnAbsentFile) {
  const TinyModel model;
  model.dir().Remove("modules.json");
  fs::create_symlink("gone", model.dir().Path("modules.json"));
  EXPECT_THAT(OpenModelFolder(model.path()), StatusIs(kNotFound, HasSubstr("modules.json")));
}

TEST(ModelFolderTest, OpensASnapshotOfAHuggingFaceHubCache) {
  const TinyModel model;
  const TempDir hub;
  const std::string snapshot = "models--org--tiny/snapshots/c9745e";
  int blob = 0;
  for (const auto& entry : fs::recursive_directory_iterator(model.path())) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), model.path());
    const std::string target = absl::StrCat("models--org--tiny/blobs/", blob++);
    hub.Write(target, model.dir().Read(name));
    const fs::path link = hub.Path(absl::StrCat(snapshot, "/", name));
    fs::create_directories(link.parent_path());
    fs::create_symlink(fs::relative(hub.Path(target), link.parent_path()), link);
  }
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder cached, OpenModelFolder(hub.Path(snapshot)));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder plain, OpenModelFolder(model.path()));
  EXPECT_EQ(cached.revision, plain.revision);
}

TEST(ModelFolderTest, C46NamesAGitLfsPointer) {
  for (const char* name : {"config.json", "tokenizer_config.json", kPoolingConfig}) {
    EXPECT_THAT(OpenWith(name, "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
                StatusIs(kInvalid, AllOf(HasSubstr(name), HasSubstr("Git LFS pointer"))));
  }
}

// ---- Revision -----------------------------------------------------------------------------------

TEST(ModelFolderTest, RevisionIsTheDigestOfSha256sumsOutput) {
  const TinyModel model({.max_seq_length = 32});
  model.dir().Write("README.md", "does not change a vector");
  std::string listing;
  for (const char* name :
       {"1_Pooling/config.json", "config.json", "model.safetensors", "modules.json",
        "sentence_bert_config.json", "tokenizer_config.json", "vocab.txt"}) {
    absl::StrAppend(&listing, Sha256Hex(model.dir().Read(name)), "  ", name, "\n");
  }
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(model.path()));
  EXPECT_EQ(folder.revision, Sha256Hex(listing));
}

TEST(ModelFolderTest, RevisionIsThatOfTheFilesAndNotOfTheirPlace) {
  const auto revision = [](const TinyModelOptions& options) {
    return OpenModelFolder(TinyModel(options).path())->revision;
  };
  EXPECT_EQ(revision({}), revision({}));
  EXPECT_NE(revision({}), revision({.seed = 2}));
  EXPECT_NE(revision({}), revision({.normalize = false}));
  EXPECT_NE(revision({}), revision({.max_seq_length = 32}));
  EXPECT_NE(revision({}), revision({.tokenizer_json = true}));
  EXPECT_NE(revision({}), revision({.shards = 2}));
}

TEST(ModelFolderTest, NoticesAFileThatChangedWhileTheModelWasBeingLoaded) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder folder, OpenModelFolder(model.path()));
  EXPECT_THAT(folder.CheckUnchanged(), IsOk());

  // Swapped for another file with the same content.
  const std::string vocab = model.dir().Read("vocab.txt");
  model.dir().Write("vocab.txt.new", vocab);
  fs::rename(model.dir().Path("vocab.txt.new"), model.dir().Path("vocab.txt"));
  EXPECT_THAT(folder.CheckUnchanged(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("vocab.txt changed while")));

  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder again, OpenModelFolder(model.path()));
  fs::resize_file(model.dir().Path("model.safetensors"), 100);
  EXPECT_THAT(again.CheckUnchanged(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("model.safetensors changed while")));

  ATTUNE_ASSERT_OK_AND_ASSIGN(const ModelFolder third, OpenModelFolder(model.path()));
  model.dir().Remove("modules.json");
  EXPECT_THAT(third.CheckUnchanged(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("modules.json changed while")));
}

}  // namespace
}  // namespace attune
