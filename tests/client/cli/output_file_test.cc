#include "client/cli/output_file.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace attune::cli {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::testing::HasSubstr;

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(OutputFileTest, AppearsOnlyWhenComplete) {
  const TempDir folder;
  const std::string path = folder.Path("complete");
  ATTUNE_ASSERT_OK_AND_ASSIGN(OutputFile out, OutputFile::Open(path));
  EXPECT_THAT(out.Write("some text"), IsOk());
  EXPECT_FALSE(Exists(path));
  EXPECT_THAT(out.Commit(), IsOk());
  EXPECT_EQ(Content(path), "some text");
  EXPECT_FALSE(Exists(path + ".partial"));
}

TEST(OutputFileTest, LeavesTheOldFileAloneWhenNotCommitted) {
  const TempDir folder;
  const std::string path = folder.Path("abandoned");
  std::ofstream(path) << "old";
  {
    ATTUNE_ASSERT_OK_AND_ASSIGN(OutputFile out, OutputFile::Open(path));
    EXPECT_THAT(out.Write("new"), IsOk());
  }
  EXPECT_EQ(Content(path), "old");
  EXPECT_FALSE(Exists(path + ".partial"));
}

TEST(OutputFileTest, NamesAFileThatCannotBeCreated) {
  EXPECT_THAT(OutputFile::Open(TempDir().Path("no/such/folder")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/folder")));
}

TEST(OutputFileTest, SaysWhenTheDiskIsFull) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(OutputFile out, OutputFile::Open("/dev/full"));
  EXPECT_THAT(out.Write("x"), IsOk());  // still in the buffer
  EXPECT_THAT(out.Commit(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("cannot write /dev/full")));
}

}  // namespace
}  // namespace attune::cli
