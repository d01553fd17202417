#include "engine/model/safetensors.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::EncodeValues;
using ::attune::testing::IsOk;
using ::attune::testing::LittleEndian;
using ::attune::testing::RawSafetensors;
using ::attune::testing::SafetensorsBytes;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<SafetensorsHeader> ParseFile(absl::string_view file) {
  return ParseSafetensorsHeader(file, static_cast<int64_t>(file.size()));
}

// The header `json` in front of `data_bytes` bytes of data.
absl::StatusOr<SafetensorsHeader> Parse(absl::string_view json, size_t data_bytes) {
  return ParseFile(RawSafetensors(json, std::string(data_bytes, '\0')));
}

std::string Entry(absl::string_view name, absl::string_view dtype, absl::string_view shape,
                  absl::string_view offsets) {
  return absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                      ",\"data_offsets\":", offsets, "}");
}

std::string Object(const std::vector<std::string>& members) {
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

// A header of the one tensor "t".
std::string One(absl::string_view dtype, absl::string_view shape, absl::string_view offsets) {
  return Object({Entry("t", dtype, shape, offsets)});
}

// Opens a file with these bytes; the file is gone afterwards, the descriptor stays.
absl::StatusOr<SafetensorsFile> OpenBytes(absl::string_view bytes) {
  const TempDir dir;
  dir.Write("model.safetensors", bytes);
  return SafetensorsFile::Open(dir.Path("model.safetensors"));
}

// ---- Right files --------------------------------------------------------------------------------

TEST(SafetensorsTest, ReadsNamesShapesAndPlaces) {
  const std::string header =
      Object({R"("__metadata__":{"format":"pt"})", Entry("b", "F32", "[2,3]", "[4,28]"),
              Entry("a", "F16", "[2]", "[0,4]"), Entry("scalar", "F32", "[]", "[28,32]")});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const SafetensorsHeader parsed, Parse(header, 32));
  EXPECT_EQ(parsed.data_begin, static_cast<int64_t>(8 + header.size()));
  ASSERT_EQ(parsed.tensors.size(), 3u);
  const TensorInfo& b = parsed.tensors.at("b");
  EXPECT_EQ(b.dtype, "F32");
  EXPECT_THAT(b.shape, ElementsAre(2, 3));
  EXPECT_EQ(b.elements, 6);
  EXPECT_EQ(b.begin, 4);
  EXPECT_EQ(b.end, 28);
  EXPECT_EQ(parsed.tensors.at("scalar").elements, 1);
}

TEST(SafetensorsTest, AcceptsSpacesAfterTheHeaderAndAFileWithoutTensors) {
  EXPECT_THAT(Parse("{}     ", 0), IsOk());
  EXPECT_THAT(Parse(One("F32", "[1]", "[0,4]") + "   ", 4), IsOk());
}

TEST(SafetensorsTest, AcceptsEmptyTensorsBetweenOthers) {
  EXPECT_THAT(Parse(Object({Entry("a", "F32", "[1]", "[0,4]"), Entry("e", "F32", "[0,7]", "[4,4]"),
                            Entry("b", "F32", "[1]", "[4,8]")}),
                    8),
              IsOk());
}

TEST(SafetensorsTest, KnowsTheSizeOfEveryDtypeOfTheFormat) {
  const std::pair<const char*, size_t> sizes[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"U16", 16}, {"I16", 16}, {"F16", 16},    {"BF16", 16},
      {"U32", 32},    {"I32", 32}, {"F32", 32}, {"U64", 64},    {"I64", 64},
      {"F64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};
  for (const auto& [dtype, bits] : sizes) {
    EXPECT_THAT(Parse(One(dtype, "[8]", absl::StrCat("[0,", bits, "]")), bits), IsOk()) << dtype;
    EXPECT_THAT(Parse(One(dtype, "[8]", absl::StrCat("[0,", bits + 1, "]")), bits + 1),
                StatusIs(kInvalid, HasSubstr("but data_offsets are")))
        << dtype;
  }
  EXPECT_THAT(Parse(One("F4", "[3]", "[0,2]"), 2), StatusIs(kInvalid, HasSubstr("whole bytes")));
}

TEST(SafetensorsTest, C47WidensF16AndBf16Exactly) {
  const std::string bf16 = LittleEndian(0x3F80, 2) + LittleEndian(0xC000, 2) +
                           LittleEndian(0x3EAB, 2) + LittleEndian(0x4049, 2) +
                           LittleEndian(0x0001, 2) + LittleEndian(0x8000, 2);
  const std::string f16 = LittleEndian(0x3C00, 2) + LittleEndian(0xC000, 2) +
                          LittleEndian(0x3555, 2) + LittleEndian(0x7BFF, 2) +
                          LittleEndian(0x0001, 2) + LittleEndian(0x8000, 2);
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const SafetensorsFile file,
      OpenBytes(SafetensorsBytes({{"bf16", "BF16", {6}, bf16}, {"f16", "F16", {6}, f16}})));
  std::vector<float> values(6);
  ASSERT_THAT(file.ReadF32("bf16", absl::MakeSpan(values)), IsOk());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f, 0.333984375f, 3.140625f, 0x1p-133f, -0.0f));
  ASSERT_THAT(file.ReadF32("f16", absl::MakeSpan(values)), IsOk());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f, 0.333251953125f, 65504.0f, 0x1p-24f, -0.0f));
}

// F16 and BF16 are widened within the destination; every length must come out right.
TEST(SafetensorsTest, C47WidensTensorsOfAnyLengthInPlace) {
  for (int64_t length : {0, 1, 2, 3, 5, 64, 1'000}) {
    std::vector<float> expected;
    for (int64_t i = 0; i < length; ++i) expected.push_back(static_cast<float>(i % 256 - 128));
    for (const char* dtype : {"F32", "F16", "BF16"}) {
      ATTUNE_ASSERT_OK_AND_ASSIGN(
          const SafetensorsFile file,
          OpenBytes(SafetensorsBytes({{"t", dtype, {length}, EncodeValues(dtype, expected)}})));
      std::vector<float> values(expected.size(), -1);
      ASSERT_THAT(file.ReadF32("t", absl::MakeSpan(values)), IsOk());
      EXPECT_THAT(values, ElementsAreArray(expected)) << dtype << " " << length;
    }
  }
}

TEST(SafetensorsTest, C47ReadsMisalignedData) {
  const std::vector<float> expected = {1.5f, -2.25f, 3.0f};
  for (size_t padding = 0; padding < 8; ++padding) {
    const std::string header =
        Object({Entry("odd", "U8", "[1]", "[0,1]"), Entry("t", "F32", "[3]", "[1,13]")}) +
        std::string(padding, ' ');
    ATTUNE_ASSERT_OK_AND_ASSIGN(
        const SafetensorsFile file,
        OpenBytes(RawSafetensors(header, absl::StrCat("x", EncodeValues("F32", expected)))));
    std::vector<float> values(3);
    ASSERT_THAT(file.ReadF32("t", absl::MakeSpan(values)), IsOk());
    EXPECT_THAT(values, ElementsAreArray(expected)) << padding;
  }
}

// ---- Values and dtypes that are refused ---------------------------------------------------------

TEST(SafetensorsTest, C47RefusesNanAndInfinityWithTensorNameAndPlace) {
  const std::pair<const char*, uint64_t> bad[] = {
      {"F32", 0x7FC00000}, {"F32", 0x7F800000}, {"F32", 0xFF800000}, {"F16", 0x7C00},
      {"F16", 0xFE00},     {"BF16", 0x7F80},    {"BF16", 0x7FC0}};
  for (const auto& [dtype, bits] : bad) {
    const int bytes = std::string(dtype) == "F32" ? 4 : 2;
    const std::string data =
        LittleEndian(0, bytes) + LittleEndian(0, bytes) + LittleEndian(bits, bytes);
    ATTUNE_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                                OpenBytes(SafetensorsBytes({{"layer.weight", dtype, {3}, data}})));
    std::vector<float> values(3);
    EXPECT_THAT(
        file.ReadF32("layer.weight", absl::MakeSpan(values)),
        StatusIs(kInvalid, AllOf(HasSubstr("model.safetensors: tensor \"layer.weight\" has "),
                                 HasSubstr("at element 2"))))
        << dtype << " " << bits;
  }
}

TEST(SafetensorsTest, C47RefusesOtherDtypesWithTensorName) {
  for (const char* dtype : {"F64", "I64", "F8_E4M3", "I8", "BOOL"}) {
    const std::string data(absl::EndsWith(dtype, "64") ? 8 : 1, '\0');
    ATTUNE_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                                OpenBytes(SafetensorsBytes({{"w", dtype, {1}, data}})));
    std::vector<float> values(1);
    EXPECT_THAT(file.ReadF32("w", absl::MakeSpan(values)),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(absl::StrCat("tensor \"w\" is ", dtype))));
  }
}

TEST(SafetensorsTest, AbsentTensorIsNotFound) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, OpenBytes(SafetensorsBytes({})));
  EXPECT_THAT(file.ReadF32("w", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no tensor \"w\"")));
}

// ---- Length -------------------------------------------------------------------------------------

TEST(SafetensorsTest, RefusesFilesOfLessThanEightBytes) {
  for (size_t size = 0; size < 8; ++size) {
    EXPECT_THAT(OpenBytes(std::string(size, '\0')),
                StatusIs(kInvalid, AllOf(HasSubstr("model.safetensors"),
                                         HasSubstr(absl::StrCat("has ", size, " bytes")))));
  }
}

TEST(SafetensorsTest, RefusesHeaderLengthsBeyondTheFileWithoutAddingThem) {
  // 2^64 - 8 and more would wrap when the eight bytes of the length are added.
  for (uint64_t length : {uint64_t{3}, uint64_t{100'000'000}}) {
    EXPECT_THAT(OpenBytes(LittleEndian(length, 8) + "{}"),
                StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("claims a header of ", length)),
                                         HasSubstr("only 2 bytes follow"))));
  }
  for (uint64_t length :
       {uint64_t{100'000'001}, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max() - 7,
        std::numeric_limits<uint64_t>::max()}) {
    EXPECT_THAT(OpenBytes(LittleEndian(length, 8) + "{}"),
                StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("claims a header of ", length)),
                                         HasSubstr("the limit is 100000000"))));
  }
}

TEST(SafetensorsTest, C46NamesAGitLfsPointerForWhatItIs) {
  EXPECT_THAT(
      OpenBytes("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n"),
      StatusIs(kInvalid,
               AllOf(HasSubstr("model.safetensors"), HasSubstr("looks like a Git LFS pointer"))));
}

TEST(SafetensorsTest, C46RefusesAFileThatWasCutShortWhereverItWasCut) {
  const std::string whole = SafetensorsBytes(
      {{"a", "F32", {4}, std::string(16, '\0')}, {"b", "F16", {3}, std::string(6, '\0')}});
  ASSERT_THAT(ParseFile(whole), IsOk());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ParseFile(whole.substr(0, size)), StatusIs(kInvalid, ::testing::_)) << size;
  }
  EXPECT_THAT(ParseFile(whole.substr(0, whole.size() - 1)),
              StatusIs(kInvalid, HasSubstr("take 22 bytes, but 21 bytes follow the header")));
}

TEST(SafetensorsTest, C46TruncationAfterOpeningIsDataLossAndNotASignal) {
  const TempDir dir;
  const std::string data(100'000, '\0');
  dir.Write("model.safetensors", SafetensorsBytes({{"first", "F32", {100}, data.substr(0, 400)},
                                                   {"second", "F32", {25'000}, data},
                                                   {"third", "BF16", {50'000}, data}}));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                              SafetensorsFile::Open(dir.Path("model.safetensors")));
  std::filesystem::resize_file(dir.Path("model.safetensors"), 10'000);
  std::vector<float> values(50'000);
  EXPECT_THAT(file.ReadF32("first", absl::MakeSpan(values).subspan(0, 100)), IsOk());
  EXPECT_THAT(file.ReadF32("second", absl::MakeSpan(values).subspan(0, 25'000)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("tensor \"second\""), HasSubstr("truncated"))));
  EXPECT_THAT(file.ReadF32("third", absl::MakeSpan(values)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("tensor \"third\"")));
}

// ---- Header -------------------------------------------------------------------------------------

TEST(SafetensorsTest, RefusesAHeaderThatIsNoObject) {
  for (const char* header : {"", " {}", "[]", "null", "\n{}", "\xEF\xBB\xBF{}"}) {
    EXPECT_THAT(Parse(header, 0), StatusIs(kInvalid, HasSubstr("does not start with '{'")));
  }
  for (const std::string& header : {std::string("{"), std::string("{}{}"), std::string("{}\0", 3),
                                    std::string("{\"a\":}"), std::string("{}x")}) {
    EXPECT_THAT(Parse(header, 0), StatusIs(kInvalid, HasSubstr("not valid JSON at byte")));
  }
}

TEST(SafetensorsTest, RefusesInvalidUtf8InANameOrInMetadata) {
  EXPECT_THAT(Parse(Object({Entry("t\xC0\x80", "F32", "[1]", "[0,4]")}), 4),
              StatusIs(kInvalid, HasSubstr("UTF-8")));
  EXPECT_THAT(Parse("{\"__metadata__\":{\"k\":\"\xED\xA0\x80\"}}", 0),
              StatusIs(kInvalid, HasSubstr("UTF-8")));
}

TEST(SafetensorsTest, RefusesDeepNestingBeforeItCostsAnything) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(Parse(absl::StrCat("{\"t\":", deep), 0),
              StatusIs(kInvalid, HasSubstr("nested deeper than 3")));
  EXPECT_THAT(Parse(One("F32", "[[1]]", "[0,4]"), 4),
              StatusIs(kInvalid, HasSubstr("nested deeper than 3")));
}

TEST(SafetensorsTest, RefusesAMillionKeys) {
  std::string header = "{\"__metadata__\":{";
  for (int i = 0; i < 1'000'000; ++i)
    absl::StrAppend(&header, i == 0 ? "" : ",", "\"", i, "\":\"\"");
  EXPECT_THAT(Parse(header + "}}", 0), StatusIs(kInvalid, HasSubstr("more than 1000000 keys")));
}

TEST(SafetensorsTest, RefusesDuplicateKeys) {
  const std::string t = Entry("t", "F32", "[1]", "[0,4]");
  EXPECT_THAT(Parse(Object({t, t}), 4), StatusIs(kInvalid, HasSubstr("duplicate key \"t\"")));
  EXPECT_THAT(Parse(R"({"t":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", 4),
              StatusIs(kInvalid, HasSubstr("duplicate key \"dtype\"")));
  EXPECT_THAT(Parse(R"({"__metadata__":{},"__metadata__":{}})", 0),
              StatusIs(kInvalid, HasSubstr("duplicate key \"__metadata__\"")));
}

TEST(SafetensorsTest, RefusesMetadataThatIsNotStrings) {
  EXPECT_THAT(Parse(R"({"__metadata__":{"version":1}})", 0),
              StatusIs(kInvalid, HasSubstr("\"version\" is not a string")));
  EXPECT_THAT(Parse(R"({"__metadata__":"pt"})", 0),
              StatusIs(kInvalid, HasSubstr("__metadata__ is not an object")));
}

TEST(SafetensorsTest, RefusesEntriesWithOtherThanTheThreeKeys) {
  for (const char* entry :
       {"1", "null", "[]", "{}", R"({"dtype":"F32","shape":[1]})",
        R"({"dtype":"F32","data_offsets":[0,4]})", R"({"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":null,"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1})"}) {
    EXPECT_THAT(Parse(absl::StrCat("{\"t\":", entry, "}"), 4),
                StatusIs(kInvalid, HasSubstr("tensor \"t\": its entry")))
        << entry;
  }
  EXPECT_THAT(Parse(R"({"t":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})", 4),
              StatusIs(kInvalid, HasSubstr("\"dtype\" is not a string")));
}

TEST(SafetensorsTest, RefusesAnUnknownDtype) {
  for (const char* dtype : {"F31", "f32", "", "float32"}) {
    EXPECT_THAT(Parse(One(dtype, "[1]", "[0,4]"), 4),
                StatusIs(kInvalid, HasSubstr("tensor \"t\": unknown dtype")));
  }
}

TEST(SafetensorsTest, RefusesShapesAndOffsetsThatAreNotIntegers) {
  for (const char* number : {"1.0", "-1", "\"1\"", "true", "null", "1e0", "-0",
                             "9223372036854775808", "18446744073709551616"}) {
    EXPECT_THAT(Parse(One("F32", absl::StrCat("[", number, "]"), "[0,4]"), 4),
                StatusIs(kInvalid, HasSubstr("\"shape\" contains")))
        << number;
    EXPECT_THAT(Parse(One("F32", "[1]", absl::StrCat("[", number, ",4]")), 4),
                StatusIs(kInvalid, HasSubstr("\"data_offsets\" contains")))
        << number;
    EXPECT_THAT(Parse(One("F32", "[1]", absl::StrCat("[0,", number, "]")), 4),
                StatusIs(kInvalid, HasSubstr("\"data_offsets\" contains")))
        << number;
  }
}

TEST(SafetensorsTest, RefusesOffsetsThatAreNotAPair) {
  for (const char* offsets : {"[]", "[0]", "[0,4,8]", "4", "{\"a\":0}", "\"0,4\""}) {
    EXPECT_THAT(Parse(One("F32", "[1]", offsets), 4),
                StatusIs(kInvalid, HasSubstr("\"data_offsets\"")))
        << offsets;
  }
  EXPECT_THAT(Parse(One("F32", "4", "[0,4]"), 4), StatusIs(kInvalid, HasSubstr("\"shape\"")));
}

TEST(SafetensorsTest, RefusesAShapeOfManyDimensions) {
  std::string shape = "[1";
  for (int i = 0; i < 16; ++i) shape += ",1";
  EXPECT_THAT(Parse(One("F32", shape + "]", "[0,4]"), 4),
              StatusIs(kInvalid, HasSubstr("at most 16 integers")));
}

// ---- Sizes and places ---------------------------------------------------------------------------

TEST(SafetensorsTest, RefusesAShapeWhoseProductWraps) {
  // 2^32 * 2^32 wraps to 0, 2^62 elements of four bytes to 0 bytes.
  for (const char* shape :
       {"[4294967296,4294967296]", "[4611686018427387904]", "[9223372036854775807,2,0]",
        "[9223372036854775807]", "[3037000500,3037000500,4]"}) {
    EXPECT_THAT(Parse(One("F32", shape, "[0,0]"), 0),
                StatusIs(kInvalid, HasSubstr("has too many elements")))
        << shape;
  }
}

TEST(SafetensorsTest, RefusesBytesThatDoNotMatchDtypeTimesShape) {
  EXPECT_THAT(Parse(One("F32", "[2]", "[0,4]"), 4),
              StatusIs(kInvalid, HasSubstr("F32 [2] takes 8 bytes, but data_offsets are 0 to 4")));
  EXPECT_THAT(Parse(One("F16", "[2]", "[0,8]"), 8), StatusIs(kInvalid, HasSubstr("takes 4 bytes")));
}

TEST(SafetensorsTest, RefusesReversedOffsets) {
  EXPECT_THAT(Parse(One("F32", "[1]", "[8,4]"), 8),
              StatusIs(kInvalid, HasSubstr("data_offsets are 8 to 4")));
  EXPECT_THAT(Parse(One("F32", "[1]", "[9223372036854775807,0]"), 8),
              StatusIs(kInvalid, HasSubstr("data_offsets are")));
}

TEST(SafetensorsTest, RefusesOffsetsBeyondTheEndOfTheFile) {
  EXPECT_THAT(Parse(One("F32", "[2]", "[0,8]"), 4),
              StatusIs(kInvalid, HasSubstr("its tensors take 8 bytes, but 4 bytes follow")));
  EXPECT_THAT(Parse(One("U8", "[2]", "[9223372036854775805,9223372036854775807]"), 4),
              StatusIs(kInvalid, HasSubstr("after a hole")));
}

TEST(SafetensorsTest, RefusesOverlapsHolesAndTrailingBytes) {
  const std::string a = Entry("a", "F32", "[2]", "[0,8]");
  EXPECT_THAT(Parse(Object({a, Entry("b", "F32", "[2]", "[4,12]")}), 12),
              StatusIs(kInvalid, AllOf(HasSubstr("tensor \"b\""),
                                       HasSubstr("starts at 4, inside another tensor's"))));
  EXPECT_THAT(Parse(Object({a, Entry("b", "F32", "[2]", "[0,8]")}), 8),
              StatusIs(kInvalid, HasSubstr("inside another tensor's")));
  EXPECT_THAT(Parse(Object({a, Entry("b", "F32", "[2]", "[12,20]")}), 20),
              StatusIs(kInvalid, HasSubstr("starts at 12, after a hole; expected 8")));
  EXPECT_THAT(Parse(Object({Entry("b", "F32", "[2]", "[4,12]")}), 12),
              StatusIs(kInvalid, HasSubstr("starts at 4, after a hole; expected 0")));
  EXPECT_THAT(Parse(Object({a}), 9),
              StatusIs(kInvalid, HasSubstr("take 8 bytes, but 9 bytes follow the header")));
}

// ---- Everything at once -------------------------------------------------------------------------

// Whatever one byte of the header is changed to, the file is refused or still a well-formed one:
// the sanitizers watch the rest.
TEST(SafetensorsTest, AnyChangedByteOfTheHeaderLeavesAWellFormedFileOrAnError) {
  const std::string good =
      SafetensorsBytes({{"a", "F32", {2, 2}, std::string(16, '\0')}, {"b", "I64", {}, "12345678"}});
  const auto data_begin = static_cast<size_t>(ParseFile(good)->data_begin);
  for (size_t at = 0; at < data_begin; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[at] = static_cast<char>(byte);
      const absl::StatusOr<SafetensorsHeader> header = ParseFile(changed);
      if (!header.ok()) continue;
      int64_t bytes = 0;
      for (const auto& [name, tensor] : header->tensors) bytes += tensor.end - tensor.begin;
      ASSERT_EQ(header->data_begin + bytes, static_cast<int64_t>(good.size())) << at << " " << byte;
    }
  }
}

TEST(SafetensorsTest, ErrorMessagesStayShortWhateverTheNameIs) {
  const std::string name(1'000'000, 'n');
  const absl::Status status = Parse(absl::StrCat("{\"", name, "\":1}"), 0).status();
  EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("nnn...")));
  EXPECT_LT(status.message().size(), 400u);
}

}  // namespace
}  // namespace attune
