#include "client/cli/npy_writer.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

std::string ReadAll(std::FILE* file) {
  std::string bytes;
  for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file)) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string Bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void WriteTwoRows(std::FILE* out) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(out));
  EXPECT_THAT(writer.AddRow({1.0f, 2.0f, 3.0f}), IsOk());
  EXPECT_THAT(writer.AddRow({4.0f, 5.0f, 6.0f}), IsOk());
  EXPECT_THAT(writer.Finish(), IsOk());
}

TEST(NpyWriterTest, HeaderIsVersionOneAndAligned) {
  const std::string header = NpyHeader({12, 384});
  ASSERT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 384), }"));
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(NpyHeader({UINT64_MAX, UINT64_MAX}).size(), 128u);
}

TEST(NpyWriterTest, AHeaderHasRoomForTheLargestMap) {
  const std::string header = NpyHeader({UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX});
  EXPECT_THAT(header, HasSubstr("(4294967295, 4294967295, 4294967295, 4294967295), }"));
  EXPECT_EQ(header.back(), '\n');
}

TEST(NpyWriterTest, PutsTheNumberOfRowsIntoAFileThatCanBeRewound) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::fputs("before", file);  // what was written earlier stays
  WriteTwoRows(file);
  std::rewind(file);
  EXPECT_EQ(ReadAll(file), "before" + NpyHeader({2, 3}) + Bytes({1, 2, 3, 4, 5, 6}));
  std::fclose(file);
}

TEST(NpyWriterTest, WritesTheSameBytesToAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::FILE* in = fdopen(ends[0], "rb");
  std::FILE* out = fdopen(ends[1], "wb");
  WriteTwoRows(out);
  std::fclose(out);
  EXPECT_EQ(ReadAll(in), NpyHeader({2, 3}) + Bytes({1, 2, 3, 4, 5, 6}));
  std::fclose(in);
}

TEST(NpyWriterTest, RefusesRowsOfUnequalLength) {
  std::FILE* file = std::tmpfile();
  ATTUNE_ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(file));
  EXPECT_THAT(writer.AddRow({1.0f, 2.0f}), IsOk());
  EXPECT_THAT(writer.AddRow({1.0f}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 1 has 1 values")));
  std::fclose(file);
}

TEST(NpyWriterTest, WithoutRowsTheArrayIsEmpty) {
  std::FILE* file = std::tmpfile();
  ATTUNE_ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(file));
  EXPECT_THAT(writer.Finish(), IsOk());
  std::rewind(file);
  EXPECT_EQ(ReadAll(file), NpyHeader({0, 0}));
  std::fclose(file);
}

}  // namespace
}  // namespace attune::cli
