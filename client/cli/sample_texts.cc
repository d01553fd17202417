#include "client/cli/sample_texts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune::cli {
namespace {

constexpr int kMaxWords = 10'000;

// Lewis Carroll, Alice's Adventures in Wonderland (1865), the beginning of chapter I.
constexpr absl::string_view kBook = R"(
Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing
to do: once or twice she had peeped into the book her sister was reading, but it had no pictures or
conversations in it, "and what is the use of a book," thought Alice "without pictures or
conversations?" So she was considering in her own mind (as well as she could, for the hot day made
her feel very sleepy and stupid), whether the pleasure of making a daisy-chain would be worth the
trouble of getting up and picking the daisies, when suddenly a White Rabbit with pink eyes ran close
by her. There was nothing so very remarkable in that; nor did Alice think it so very much out of the
way to hear the Rabbit say to itself, "Oh dear! Oh dear! I shall be late!" (when she thought it over
afterwards, it occurred to her that she ought to have wondered at this, but at the time it all
seemed quite natural); but when the Rabbit actually took a watch out of its waistcoat-pocket, and
looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind that
she had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and
burning with curiosity, she ran across the field after it, and fortunately was just in time to see
it pop down a large rabbit-hole under the hedge. In another moment down went Alice after it, never
once considering how in the world she was to get out again. The rabbit-hole went straight on like a
tunnel for some way, and then dipped suddenly down, so suddenly that Alice had not a moment to think
about stopping herself before she found herself falling down a very deep well. Either the well was
very deep, or she fell very slowly, for she had plenty of time as she went down to look about her
and to wonder what was going to happen next. First, she tried to look down and make out what she was
coming to, but it was too dark to see anything; then she looked at the sides of the well, and
noticed that they were filled with cupboards and book-shelves; here and there she saw maps and
pictures hung upon pegs.)";

const std::vector<absl::string_view>& BookWords() {
  static const auto* const kWords = new std::vector<absl::string_view>(
      absl::StrSplit(kBook, absl::ByAnyChar(" \n"), absl::SkipEmpty()));
  return *kWords;
}

int DrawCount(const WordRange& range, std::mt19937_64& random) {
  if (!range.mixed) return std::uniform_int_distribution<int>(range.min, range.max)(random);
  const double drawn = std::lognormal_distribution<double>(std::log(18.0), 0.9)(random);
  // Clipped before it is rounded: a double need not fit an int.
  return static_cast<int>(std::lround(std::clamp<double>(drawn, range.min, range.max)));
}

}  // namespace

absl::StatusOr<WordRange> ParseWordRange(absl::string_view text) {
  if (text == "mixed") return WordRange{.min = 2, .max = 380, .mixed = true};
  const std::vector<absl::string_view> bounds = absl::StrSplit(text, absl::MaxSplits('-', 1));
  WordRange range;
  if (!absl::SimpleAtoi(bounds.front(), &range.min) ||
      !absl::SimpleAtoi(bounds.back(), &range.max) || range.min < 1 || range.max < range.min ||
      range.max > kMaxWords) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\" is neither \"mixed\" nor MIN-MAX words, such as 5-40, with 1 <= MIN <= MAX <= ",
        kMaxWords));
  }
  return range;
}

std::string SampleText(const WordRange& range, std::mt19937_64& random) {
  const std::vector<absl::string_view>& words = BookWords();
  const int count = DrawCount(range, random);
  size_t at = std::uniform_int_distribution<size_t>(0, words.size() - 1)(random);
  std::string text;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, i > 0 ? " " : "", words[at]);
    at = (at + 1) % words.size();
  }
  return text;
}

}  // namespace attune::cli
