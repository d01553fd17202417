// Model files that are cut, gone or of another kind, at the start, during a reload and after it.

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/support/running_server.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::ProgramResult;
using ::attune::testing::RunningServer;
using ::attune::testing::RunProgram;
using ::attune::testing::ServerBinary;
using ::attune::testing::TempDir;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::AnyOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr char kWeights[] = "model.safetensors";

// A folder with every kind of file that is read.
TinyModelOptions FullFolder(uint64_t seed = 1) {
  TinyModelOptions options;
  options.seed = seed;
  options.tokenizer_json = true;
  options.max_seq_length = 64;
  return options;
}

std::vector<std::string> FilesOf(const TinyModel& model) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(model.path())) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), model.path()).string());
  }
  return files;
}

// What the start comes to, as far as a port that is open.
ProgramResult Check(const TinyModel& model) {
  return RunProgram(ServerBinary(),
                    {.arguments = {"check", "--model", model.path(), "--precision", "f32"}});
}

void ExpectRefused(const TinyModel& model, const std::string& file, const std::string& how) {
  const ProgramResult result = Check(model);
  EXPECT_EQ(result.exit_code, 1) << file << ' ' << how << ": " << result.err;
  EXPECT_THAT(result.err, HasSubstr("\"start_failed\"")) << file << ' ' << how;
  EXPECT_THAT(result.err, HasSubstr(fs::path(file).filename().string())) << how;
}

std::string VectorOf(v1::EncoderService::Stub& stub) {
  const EncodeResult result = Encode(stub, {"the cat sat on a mat"});
  EXPECT_THAT(result.status, IsGrpcOk());
  return result.response.embeddings().empty() ? ""
                                              : result.response.embeddings(0).SerializeAsString();
}

TEST(ModelFilesTest, AFileThatIsCutAnywhereIsNamedAtTheStart) {
  const TinyModel model(FullFolder());
  ASSERT_EQ(Check(model).exit_code, 0);
  for (const std::string& file : FilesOf(model)) {
    const std::string whole = model.dir().Read(file);
    for (const size_t length : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 2}) {
      model.dir().Write(file, whole.substr(0, length));
      ExpectRefused(model, file, absl::StrCat("cut to ", length));
    }
    model.dir().Write(file, whole);
  }
  EXPECT_EQ(Check(model).exit_code, 0);
}

TEST(ModelFilesTest, SomethingElseInAFilesPlaceIsNamedAtTheStart) {
  const TinyModel model(FullFolder());
  for (const std::string& file : FilesOf(model)) {
    const std::string path = model.dir().Path(file);
    const std::string whole = model.dir().Read(file);
    fs::remove(path);
    fs::create_directory(path);
    ExpectRefused(model, file, "a folder");
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    ExpectRefused(model, file, "a FIFO");
    fs::remove(path);
    fs::create_symlink("no-such-file", path);
    ExpectRefused(model, file, "a link to nothing");
    fs::remove(path);
    fs::create_symlink(fs::path(file).filename(), path);
    ExpectRefused(model, file, "a link to itself");
    fs::remove(path);
    model.dir().Write(file, whole);
  }
}

TEST(ModelFilesTest, AfterTheLoadTheFilesAreNotNeeded) {
  const TinyModel model(FullFolder());
  RunningServer running(model.path());
  const std::string vector = VectorOf(running.stub());
  const std::string weights = model.dir().Read(kWeights);
  model.dir().Write(kWeights, weights.substr(0, 100));  // in place: whoever has it open sees it
  EXPECT_EQ(VectorOf(running.stub()), vector);
  for (const std::string& file : FilesOf(model)) model.dir().Remove(file);
  EXPECT_EQ(VectorOf(running.stub()), vector);
  EXPECT_THAT(running.Reload(), HasSubstr("\"reload_failed\""));
  EXPECT_EQ(VectorOf(running.stub()), vector);
  EXPECT_EQ(running.Stop(), 0);
}

TEST(ModelFilesTest, AReloadOfACutFileKeepsTheModel) {
  const TinyModel model(FullFolder());
  RunningServer running(model.path());
  const std::string vector = VectorOf(running.stub());
  for (const std::string& file : FilesOf(model)) {
    const std::string whole = model.dir().Read(file);
    model.dir().Write(file, whole.substr(0, whole.size() / 2));
    const std::string failed = running.Reload();
    EXPECT_THAT(failed, HasSubstr("\"reload_failed\""));
    EXPECT_THAT(failed, HasSubstr(fs::path(file).filename().string()));
    EXPECT_EQ(VectorOf(running.stub()), vector);
    model.dir().Write(file, whole);
  }
  EXPECT_THAT(running.Reload(), HasSubstr("\"reloaded\""));
  EXPECT_EQ(VectorOf(running.stub()), vector);
  EXPECT_EQ(running.Stop(), 0);
}

// Puts first one and then another thing in the place of the weights, until it is destroyed.
class Restless {
 public:
  // One of `contents`; nothing at all in between.
  Restless(const TinyModel& model, std::vector<std::string> contents)
      : thread_([this, &model, contents = std::move(contents)] {
          const TempDir spare;
          const std::string path = model.dir().Path(kWeights);
          for (size_t i = 0; !stop_; ++i) {
            spare.Write("next", contents[i % contents.size()]);
            fs::rename(spare.Path("next"), path);
            std::this_thread::yield();
            if (i % 5 == 0) fs::remove(path);
          }
        }) {}
  ~Restless() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(ModelFilesTest, FilesThatChangeDuringAReloadGiveOneModelOrTheOther) {
  const TinyModel first(FullFolder(1));
  const TinyModel second(FullFolder(2));
  const std::string old_weights = first.dir().Read(kWeights);
  const std::string new_weights = second.dir().Read(kWeights);
  RunningServer running(first.path());
  RunningServer other(second.path());
  const std::string old_vector = VectorOf(running.stub());
  const std::string new_vector = VectorOf(other.stub());
  ASSERT_NE(old_vector, new_vector);
  {
    const Restless restless(first, {old_weights, new_weights,
                                    new_weights.substr(0, new_weights.size() / 2), new_weights});
    for (int i = 0; i < 20; ++i) {
      EXPECT_THAT(running.Reload(),
                  AnyOf(HasSubstr("\"reloaded\""), HasSubstr("\"reload_failed\"")));
      EXPECT_THAT(VectorOf(running.stub()), AnyOf(old_vector, new_vector));
    }
  }
  first.dir().Write(kWeights, new_weights);
  EXPECT_THAT(running.Reload(), HasSubstr("\"reloaded\""));
  EXPECT_EQ(VectorOf(running.stub()), new_vector);
  EXPECT_EQ(running.Stop(), 0);
}

}  // namespace
}  // namespace attune
