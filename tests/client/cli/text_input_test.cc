#include "client/cli/text_input.h"

#include <sstream>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ReadResult {
  std::vector<std::string> texts;
  std::vector<size_t> lines;
  absl::Status status;
};

ReadResult ReadTexts(const std::string& bytes, InputFormat format) {
  std::istringstream in(bytes);
  TextReader reader(in, "words.txt", format, InputKind::kText);
  ReadResult result;
  while (true) {
    const auto line = reader.Next();
    result.status = line.status();
    if (!line.ok() || !*line) return result;
    result.texts.push_back(std::get<std::string>((*line)->input));
    result.lines.push_back((*line)->line);
  }
}

TEST(TextInputTest, EveryLineIsATextAndBlankOnesToo) {
  const ReadResult result = ReadTexts("one\n\n three \nlast", InputFormat::kLines);
  EXPECT_THAT(result.texts, ElementsAre("one", "", " three ", "last"));
  EXPECT_THAT(result.lines, ElementsAre(1, 2, 3, 4));
}

TEST(TextInputTest, TakesWindowsLineEndsAndAByteOrderMark) {
  EXPECT_THAT(ReadTexts("\xEF\xBB\xBFone\r\ntwo\r\n", InputFormat::kLines).texts,
              ElementsAre("one", "two"));
}

TEST(TextInputTest, KeepsNulBytes) {
  EXPECT_THAT(ReadTexts(std::string("a\0b\n", 4), InputFormat::kLines).texts,
              ElementsAre(std::string("a\0b", 3)));
}

TEST(TextInputTest, AnEmptyStreamHasNoTexts) {
  EXPECT_THAT(ReadTexts("", InputFormat::kLines).texts, ElementsAre());
}

TEST(TextInputTest, NamesLineColumnAndByteOfInvalidUtf8) {
  const ReadResult result = ReadTexts("fine\nab\xff\n", InputFormat::kLines);
  EXPECT_THAT(result.texts, ElementsAre("fine"));
  EXPECT_THAT(result.status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("words.txt:2: not UTF-8: byte 0xff at column 3"),
                             HasSubstr("iconv"))));
}

TEST(TextInputTest, TakesTheTextOfJsonLinesAndNothingElse) {
  const ReadResult result =
      ReadTexts("{\"id\": 7, \"text\": \"a\\nb\"}\n\n{\"text\": \"\\ud83d\\udc4d\"}\n",
                InputFormat::kJsonLines);
  EXPECT_THAT(result.texts, ElementsAre("a\nb", "\xF0\x9F\x91\x8D"));
  EXPECT_THAT(result.lines, ElementsAre(1, 3));
}

TEST(TextInputTest, NamesTheLineThatIsNotAnObjectWithText) {
  const struct {
    std::string line;
    std::string message;
  } cases[] = {
      {"{\"txt\": 1}", "words.txt:1: not an object with \"text\""},
      {"[1]", "words.txt:1: not an object with \"text\""},
      {"{\"text\": 1}", "words.txt:1: \"text\" is not a string"},
      {"{\"text\": ", "words.txt:1: not JSON: parse error"},
      {"{\"text\": \"a\\ud800b\"}", "words.txt:1: not JSON: parse error"},
      {std::string(100'000, '['), "words.txt:1: not JSON: parse error"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ReadTexts(c.line, InputFormat::kJsonLines).status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(TextInputTest, ParsesTokenIds) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const TokenIdList ids, ParseTokenIds("101, 7592\t102"));
  EXPECT_THAT(ids, ElementsAre(101, 7592, 102));
  for (const char* bad : {"", "101 x", "-1", "4294967296", "1.5"}) {
    EXPECT_THAT(ParseTokenIds(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token id")));
  }
}

TEST(TextInputTest, ReadsTokenIdsFromJsonLines) {
  std::istringstream in("{\"token_ids\": [101, 102]}\n{\"token_ids\": [-1]}\n");
  TextReader reader(in, "ids.jsonl", InputFormat::kJsonLines, InputKind::kTokenIds);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto line, reader.Next());
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(std::get<TokenIdList>(line->input), ElementsAre(101, 102));
  EXPECT_THAT(reader.Next(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("ids.jsonl:2: not a token id: -1")));
}

absl::StatusOr<EncodeInput> ReadPair(const std::string& line, InputFormat format) {
  std::istringstream in(line);
  TextReader reader(in, "pairs", format, InputKind::kTextPair);
  const auto read = reader.Next();
  if (!read.ok()) return read.status();
  return (*read)->input;
}

TEST(TextInputTest, APairOnALineHasATabBetweenItsTexts) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput pair, ReadPair("a b\tc\td\n", InputFormat::kLines));
  EXPECT_EQ(pair, EncodeInput(TextPair{"a b", "c\td"}));
  EXPECT_THAT(ReadPair("a b\n", InputFormat::kLines),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pairs:1: no tab")));
}

TEST(TextInputTest, APairInJsonHasTextAndTextPair) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput pair, ReadPair(R"({"text": "a", "text_pair": "b"})",
                                                               InputFormat::kJsonLines));
  EXPECT_EQ(pair, EncodeInput(TextPair{"a", "b"}));
  EXPECT_THAT(ReadPair(R"({"text": "a"})", InputFormat::kJsonLines),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"text_pair\"")));
}

}  // namespace
}  // namespace attune::cli
