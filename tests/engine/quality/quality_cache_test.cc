#include "engine/quality/quality_cache.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::TempDir;
using ::attune::testing::TinyModel;

QualityKey SomeKey() {
  return {.model_revision = "abc",
          .precision = "int8",
          .kernels = "brg:avx512_core_vnni",
          .isa = "avx512_core_vnni",
          .onednn_version = "2.6.3",
          .kernel_version = 3,
          .texts = "def"};
}

QualityFigures SomeFigures() {
  return {.texts = 300,
          .mean_cosine = 0.9987654321,
          .min_cosine = 1.0 / 3,
          .max_difference = 0.0625,
          .neighbours = 10,
          .mean_overlap = 0.95,
          .worst_overlap = 0.6};
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().filename());
  }
  return files;
}

class QualityCacheTest : public ::testing::Test {
 protected:
  // The one file that Store made, relative to the temporary folder.
  std::string StoredFile() const {
    const std::vector<std::string> files = FilesIn(dir_.Path("a/b"));
    EXPECT_EQ(files.size(), 1u);
    return "a/b/" + files.at(0);
  }

  const TempDir dir_;
  const QualityCache cache_{dir_.Path("a/b")};
};

TEST_F(QualityCacheTest, FindsWhatWasStoredBitForBit) {
  EXPECT_EQ(cache_.Find(SomeKey()), std::nullopt);
  cache_.Store(SomeKey(), SomeFigures());
  EXPECT_EQ(QualityCache(dir_.Path("a/b")).Find(SomeKey()), SomeFigures());
}

TEST_F(QualityCacheTest, EveryPartOfTheKeyCounts) {
  cache_.Store(SomeKey(), SomeFigures());
  std::vector<QualityKey> others(7, SomeKey());
  others[0].model_revision = "abd";
  others[1].precision = "bf16";
  others[2].kernels = "native:avx512";
  others[3].isa = "avx512_core_bf16";
  others[4].onednn_version = "3.7.2";
  others[5].kernel_version = 4;
  others[6].texts = "deg";
  for (const QualityKey& other : others) EXPECT_EQ(cache_.Find(other), std::nullopt);
}

TEST_F(QualityCacheTest, ADamagedFileIsIgnoredAndWrittenAnew) {
  cache_.Store(SomeKey(), SomeFigures());
  const std::string file = StoredFile();
  const std::string good = dir_.Read(file);
  std::string out_of_range = good;
  out_of_range.replace(out_of_range.find("0.9987654321"), 12, "1.9987654321");
  std::string wrong_type = good;
  wrong_type.replace(wrong_type.find("300"), 3, "\"x\"");
  std::string other_key = good;
  other_key.replace(other_key.find("abc"), 3, "abd");
  for (const std::string& damaged :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"key\": 1}"),
        good.substr(0, good.size() / 2), out_of_range, wrong_type, other_key,
        std::string(1 << 20, ' ')}) {
    dir_.Write(file, damaged);
    EXPECT_EQ(cache_.Find(SomeKey()), std::nullopt) << damaged.substr(0, 300);
    cache_.Store(SomeKey(), SomeFigures());
    EXPECT_EQ(cache_.Find(SomeKey()), SomeFigures());
  }
}

TEST_F(QualityCacheTest, LeavesNoDraftBehind) {
  cache_.Store(SomeKey(), SomeFigures());
  cache_.Store(SomeKey(), SomeFigures());
  EXPECT_EQ(FilesIn(dir_.Path("a/b")).size(), 1u);
}

TEST_F(QualityCacheTest, AFolderThatCannotBeMadeIsNoError) {
  dir_.Write("file", "not a folder");
  const QualityCache below_a_file(dir_.Path("file/quality"));
  below_a_file.Store(SomeKey(), SomeFigures());
  EXPECT_EQ(below_a_file.Find(SomeKey()), std::nullopt);
  const QualityCache not_writable("/proc/attune/quality");
  not_writable.Store(SomeKey(), SomeFigures());
  EXPECT_EQ(not_writable.Find(SomeKey()), std::nullopt);
}

TEST_F(QualityCacheTest, WithoutAFolderRemembersNothing) {
  const QualityCache off("");
  off.Store(SomeKey(), SomeFigures());
  EXPECT_EQ(off.Find(SomeKey()), std::nullopt);
}

TEST(QualityKeyTest, NamesTheModelAndWhatRunsIt) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Engine> engine,
                              Engine::Load(model.path()));
  const QualityKey key = MakeQualityKey(*engine);
  EXPECT_EQ(key.model_revision, engine->folder().revision);
  EXPECT_EQ(key.precision, "f32");
  EXPECT_EQ(key.kernels, engine->kernel_name());
  EXPECT_EQ(key.isa, EffectiveIsa());
  EXPECT_GE(key.kernel_version, 1);
}

}  // namespace
}  // namespace attune
