// Texts that broke other tokenizers, with what the reference makes of them (cases.json, written by
// generate_cases.py). One test per situation; each says what went wrong elsewhere.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/text/tokenizer.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using Ranges = std::vector<std::vector<int64_t>>;

Ranges ToLists(const std::vector<TextRange>& ranges) {
  Ranges lists;
  for (const TextRange& range : ranges) lists.push_back({range.begin, range.end});
  return lists;
}

class TokenizerGoldenTest : public ::testing::Test {
 protected:
  // Runs every row of situation `id`, of which there must be `rows`.
  void RunCase(const std::string& id, int rows) {
    const char* path = std::getenv("ATTUNE_TOKENIZER_CASES");
    ASSERT_NE(path, nullptr) << "ATTUNE_TOKENIZER_CASES names no file";
    constexpr int64_t kMaxBytes = int64_t{4} << 20;
    ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path, kMaxBytes));
    ATTUNE_ASSERT_OK_AND_ASSIGN(document_, ParseJson(text));
    int found = 0;
    for (const Json& row : document_["cases"]) {
      if (row["case"] != id) continue;
      SCOPED_TRACE(DumpJson(row["fixture"]) + " " + DumpJson(row["request"]));
      RunRow(row);
      ++found;
    }
    EXPECT_EQ(found, rows);
  }

 private:
  void RunRow(const Json& row) {
    const Json& request = row["request"];
    TokenizeOptions options;
    options.offsets = true;
    options.max_tokens = request.value("max_tokens", int64_t{0});
    if (request.value("left", false)) options.truncation_side = TruncationSide::kLeft;
    options.specials_as_text = request.value("specials_as_text", false);
    const Tokenizer* tokenizer = Fixture(row["fixture"]);
    ASSERT_NE(tokenizer, nullptr);
    const std::string text = request["text"];
    absl::StatusOr<Encoding> encoded = Encoding();
    if (request["pair"].is_null()) {
      encoded = tokenizer->Encode(text, options);
    } else {
      encoded = tokenizer->EncodePair(text, request["pair"].get<std::string>(), options);
    }
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Encoding encoding, std::move(encoded));
    const Json& expected = row["expected"];
    EXPECT_EQ(encoding.ids, expected["ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(encoding.type_ids, expected["types"].get<std::vector<int32_t>>());
    EXPECT_EQ(ToLists(encoding.byte_ranges), expected["bytes"].get<Ranges>());
    EXPECT_EQ(ToLists(encoding.code_point_ranges), expected["chars"].get<Ranges>());
    EXPECT_EQ(encoding.special, expected["special"].get<std::vector<bool>>());
    EXPECT_EQ(encoding.truncated, expected["truncated"].get<bool>());
    // The reference numbers words from where it stopped when it truncates on the left.
    if (options.truncation_side == TruncationSide::kRight) {
      EXPECT_EQ(encoding.word_ids, expected["words"].get<std::vector<int32_t>>());
    }
  }

  const Tokenizer* Fixture(const std::string& name) {
    std::unique_ptr<const Tokenizer>& fixture = fixtures_[name];
    if (fixture == nullptr) {
      TokenizerFiles files;
      files.tokenizer_json = DumpJson(document_["fixtures"][name]);
      auto created = Tokenizer::Create(files);
      EXPECT_THAT(created, testing::IsOk());
      if (created.ok()) fixture = *std::move(created);
    }
    return fixture.get();
  }

  Json document_;
  std::map<std::string, std::unique_ptr<const Tokenizer>> fixtures_;
};

// Null strip_accents read as false; only U+0300..036F stripped; final-sigma rule applied.
TEST_F(TokenizerGoldenTest, C01AccentsMarksAndLowerCase) { RunCase("C01", 16); }

// Decomposition skipped, or recomposed afterwards.
TEST_F(TokenizerGoldenTest, C03HangulDecomposesIntoJamo) { RunCase("C03", 5); }

// A newline deleted, so that two words fused; only some controls removed.
TEST_F(TokenizerGoldenTest, C04ZeroWidthControlPrivateUseAndOddSpaces) { RunCase("C04", 22); }

// Pieces of a word kept although the rest of it was unknown.
TEST_F(TokenizerGoldenTest, C06OneMissingPieceMakesTheWordUnknown) { RunCase("C06", 12); }

// Special tokens in the text not matched, or taken for padding.
TEST_F(TokenizerGoldenTest, C08SpecialTokensTypedInTheText) { RunCase("C08", 10); }

// Ranges that end before they begin, or count bytes where characters were promised.
TEST_F(TokenizerGoldenTest, C09RangesWhenNormalisationChangesLength) { RunCase("C09", 9); }

// The neighbours of a single_word token tested off by one; normalized tokens lower-cased away.
TEST_F(TokenizerGoldenTest, C10SingleWordAndNormalizedAddedTokens) { RunCase("C10", 18); }

// An empty first text an error; the odd token given to the wrong text.
TEST_F(TokenizerGoldenTest, C21LongestFirstTruncation) { RunCase("C21", 15); }

// White space stripped by a library before the tokenizer saw it.
TEST_F(TokenizerGoldenTest, C29PromptsAndSpacesAreKept) { RunCase("C29", 3); }

// The second text given type 0.
TEST_F(TokenizerGoldenTest, C40SecondTextHasTypeOne) { RunCase("C40", 5); }

// Empty texts crashed.
TEST_F(TokenizerGoldenTest, C50BlankTextIsTheSpecialTokens) { RunCase("C50", 5); }

}  // namespace
}  // namespace attune
