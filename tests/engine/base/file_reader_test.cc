#include "engine/base/file_reader.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::attune::testing::IsOk;
using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kLfsPointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

int OpenDescriptors() {
  return static_cast<int>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(FileReaderTest, ReadsAnyRangeOfTheFile) {
  const TempDir dir;
  dir.Write("file", "0123456789");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const FileReader file, FileReader::Open(dir.Path("file")));
  EXPECT_EQ(file.size_bytes(), 10);
  std::string part(4, ' ');
  EXPECT_THAT(file.ReadAt(3, 4, part.data()), IsOk());
  EXPECT_EQ(part, "3456");
  EXPECT_THAT(file.ReadAt(10, 0, part.data()), IsOk());
}

TEST(FileReaderTest, MissingFileIsNotFoundAndNamed) {
  const TempDir dir;
  EXPECT_THAT(FileReader::Open(dir.Path("absent")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir.Path("absent"))));
}

TEST(FileReaderTest, RefusesADirectory) {
  const TempDir dir;
  EXPECT_THAT(FileReader::Open(dir.path()), StatusIs(kInvalid, HasSubstr("not a regular file")));
}

TEST(FileReaderTest, RefusesAFifoWithoutWaitingForAWriter) {
  const TempDir dir;
  ASSERT_EQ(mkfifo(dir.Path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(FileReader::Open(dir.Path("fifo")),
              StatusIs(kInvalid, HasSubstr("fifo is not a regular file")));
}

TEST(FileReaderTest, RefusesASocketAndADevice) {
  const TempDir dir;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A relative name: the temporary folder's full path may be longer than a socket's may be.
  const fs::path here = fs::current_path();
  fs::current_path(dir.path());
  std::strcpy(address.sun_path, "socket");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  fs::current_path(here);
  ASSERT_EQ(bound, 0);
  EXPECT_THAT(FileReader::Open(dir.Path("socket")),
              StatusIs(kInvalid, HasSubstr("not a regular file")));
  close(fd);
  EXPECT_THAT(FileReader::Open("/dev/null"), StatusIs(kInvalid, HasSubstr("not a regular file")));
}

TEST(FileReaderTest, TruncationAfterOpeningIsDataLossAndNotASignal) {
  const TempDir dir;
  dir.Write("file", std::string(100'000, 'x'));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const FileReader file, FileReader::Open(dir.Path("file")));
  fs::resize_file(dir.Path("file"), 50'000);
  std::string content(100'000, ' ');
  EXPECT_THAT(file.ReadAt(0, 100'000, content.data()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("ends at byte 50000"), HasSubstr("50000 bytes short"))));
}

TEST(FileReaderTest, MovingOverAnOpenFileClosesIt) {
  const TempDir dir;
  dir.Write("a", "aaa");
  dir.Write("b", "b");
  const int before = OpenDescriptors();
  ATTUNE_ASSERT_OK_AND_ASSIGN(FileReader a, FileReader::Open(dir.Path("a")));
  ATTUNE_ASSERT_OK_AND_ASSIGN(FileReader b, FileReader::Open(dir.Path("b")));
  a = std::move(b);
  EXPECT_EQ(OpenDescriptors(), before + 1);
  EXPECT_EQ(a.size_bytes(), 1);
  char content = ' ';
  EXPECT_THAT(a.ReadAt(0, 1, &content), IsOk());
  EXPECT_EQ(content, 'b');
}

TEST(ReadFileTest, ReadsFilesUpToTheLimit) {
  const TempDir dir;
  dir.Write("file", absl::string_view("a\0b", 3));
  EXPECT_THAT(ReadFile(dir.Path("file"), 3), IsOkAndHolds(std::string("a\0b", 3)));
  EXPECT_THAT(ReadFile(dir.Path("file"), 2),
              StatusIs(kInvalid, AllOf(HasSubstr("has 3 bytes"), HasSubstr("limit is 2"))));
  dir.Write("empty", "");
  EXPECT_THAT(ReadFile(dir.Path("empty"), 0), IsOkAndHolds(""));
}

TEST(ReadFileTest, C46NamesAGitLfsPointerForWhatItIs) {
  const TempDir dir;
  dir.Write("tokenizer.json", kLfsPointer);
  EXPECT_THAT(ReadFile(dir.Path("tokenizer.json"), 1'000),
              StatusIs(kInvalid, AllOf(HasSubstr("tokenizer.json"), HasSubstr("Git LFS pointer"),
                                       HasSubstr("git lfs pull"))));
}

TEST(JoinModelPathTest, RefusesPathsThatPointElsewhere) {
  for (absl::string_view path : {"/etc/passwd", "..", "../x", "a/../../x", "a/..", "/"}) {
    EXPECT_THAT(JoinModelPath("/model", path), StatusIs(kInvalid, HasSubstr("model folder")))
        << path;
  }
  EXPECT_THAT(JoinModelPath("/model", absl::string_view("a\0b", 3)),
              StatusIs(kInvalid, "path \"a\\u0000b\" is not relative to the model folder"));
}

TEST(JoinModelPathTest, JoinsPathsThatStayInside) {
  EXPECT_THAT(JoinModelPath("/model", ""), IsOkAndHolds("/model"));
  EXPECT_THAT(JoinModelPath("/model", "1_Pooling/config.json"),
              IsOkAndHolds("/model/1_Pooling/config.json"));
  EXPECT_THAT(JoinModelPath("/model", "a..b"), IsOkAndHolds("/model/a..b"));
}

TEST(JoinModelPathTest, RefusesALinkOutOfTheFolder) {
  const TempDir dir;
  dir.Write("outside/secret", "s");
  dir.Write("model/config.json", "{}");
  dir.Write("model-2/file", "");
  fs::create_symlink(dir.Path("outside/secret"), dir.Path("model/vocab.txt"));
  fs::create_directory_symlink("../outside", dir.Path("model/1_Pooling"));
  fs::create_directory_symlink("../model-2", dir.Path("model/sibling"));
  const std::string model = dir.Path("model");
  EXPECT_THAT(JoinModelPath(model, "vocab.txt"), StatusIs(kInvalid, HasSubstr("symbolic link")));
  EXPECT_THAT(JoinModelPath(model, "1_Pooling"), StatusIs(kInvalid, HasSubstr("symbolic link")));
  EXPECT_THAT(JoinModelPath(model, "1_Pooling/secret"),
              StatusIs(kInvalid, HasSubstr("outside the model folder")));
  // "model-2" starts with the letters of "model", but is another folder.
  EXPECT_THAT(JoinModelPath(model, "sibling/file"), StatusIs(kInvalid, HasSubstr("outside")));
}

TEST(JoinModelPathTest, FollowsLinksWithinTheFolderAndALinkToTheFolder) {
  const TempDir dir;
  dir.Write("model/..data/config.json", "{}");  // how Kubernetes mounts a ConfigMap
  fs::create_symlink("..data/config.json", dir.Path("model/config.json"));
  fs::create_directory_symlink("model", dir.Path("current"));
  EXPECT_THAT(JoinModelPath(dir.Path("model"), "config.json"), IsOk());
  EXPECT_THAT(JoinModelPath(dir.Path("current"), "config.json"), IsOk());
  EXPECT_THAT(JoinModelPath(dir.Path("current") + "/", "config.json"), IsOk());
}

TEST(JoinModelPathTest, FollowsTheLinksOfAHuggingFaceHubCache) {
  const TempDir dir;
  dir.Write("hub/models--org--name/blobs/53aa", "weights");
  dir.Write("hub/models--org--name/refs/main", "c9745e");
  dir.Write("hub/models--other--name/blobs/53aa", "weights");
  const std::string snapshot = "hub/models--org--name/snapshots/c9745e";
  fs::create_directories(dir.Path(snapshot + "/1_Pooling"));
  fs::create_symlink("../../blobs/53aa", dir.Path(snapshot + "/model.safetensors"));
  fs::create_symlink("../../../blobs/53aa", dir.Path(snapshot + "/1_Pooling/config.json"));
  fs::create_symlink("../../refs/main", dir.Path(snapshot + "/ref"));
  fs::create_symlink("../../../models--other--name/blobs/53aa", dir.Path(snapshot + "/other"));
  const std::string folder = dir.Path(snapshot);
  EXPECT_THAT(JoinModelPath(folder, "model.safetensors"), IsOk());
  EXPECT_THAT(JoinModelPath(folder, "1_Pooling/config.json"), IsOk());
  EXPECT_THAT(JoinModelPath(folder + "/1_Pooling", "config.json"), IsOk());
  // Only the blobs, and only this model's.
  EXPECT_THAT(JoinModelPath(folder, "ref"), StatusIs(kInvalid, HasSubstr("outside")));
  EXPECT_THAT(JoinModelPath(folder, "other"), StatusIs(kInvalid, HasSubstr("outside")));
}

TEST(JoinModelPathTest, GrantsNothingToAFolderThatOnlyLooksLikeAHubCache) {
  const TempDir dir;
  dir.Write("name/blobs/53aa", "weights");
  fs::create_directories(dir.Path("name/snapshots/c9745e"));
  fs::create_symlink("../../blobs/53aa", dir.Path("name/snapshots/c9745e/model.safetensors"));
  EXPECT_THAT(JoinModelPath(dir.Path("name/snapshots/c9745e"), "model.safetensors"),
              StatusIs(kInvalid, HasSubstr("outside")));
}

TEST(PathExistsTest, ADanglingLinkExistsSoThatOpeningItFails) {
  const TempDir dir;
  EXPECT_FALSE(PathExists(dir.Path("modules.json")));
  fs::create_symlink("gone", dir.Path("modules.json"));
  EXPECT_TRUE(PathExists(dir.Path("modules.json")));
  EXPECT_THAT(ReadFile(dir.Path("modules.json"), 100),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("modules.json")));
}

}  // namespace
}  // namespace attune
