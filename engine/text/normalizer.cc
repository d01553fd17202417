#include "engine/text/normalizer.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "engine/text/utf8.h"

namespace attune {
namespace {

constexpr unsigned char kDropped = 0xFF;  // not ASCII, so free as a marker
constexpr char32_t kSpace = U' ';

uint16_t RelevantClasses(const NormalizerPass& steps) {
  unsigned classes = 0;
  if (steps.clean_text) classes |= kCleanTextRemoved | kCleanTextSpace;
  if (steps.space_chinese_chars) classes |= kChineseChar;
  if (steps.decompose) classes |= kHasDecomposition | kCombining;
  if (steps.drop_nonspacing_marks) classes |= kNonspacingMark;
  if (steps.drop_marks) classes |= kMark;
  if (steps.lowercase) classes |= kHasLowercase;
  return static_cast<uint16_t>(classes);
}

// ASCII neither decomposes nor combines, is no mark and not Chinese.
std::array<unsigned char, 128> AsciiMap(const NormalizerPass& steps) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  std::array<unsigned char, 128> map;
  for (unsigned char c = 0; c < map.size(); ++c) {
    map[c] = c;
    if (steps.clean_text && unicode.Has(c, kCleanTextRemoved)) map[c] = kDropped;
    if (steps.clean_text && unicode.Has(c, kCleanTextSpace)) map[c] = ' ';
    if (steps.lowercase && unicode.Has(c, kHasLowercase)) {
      map[c] = static_cast<unsigned char>(unicode.Lowercase(c)[0]);
    }
  }
  return map;
}

}  // namespace

// One pass over one text.
class Normalizer::PassRun {
 public:
  // `src_origins` is null if src is the original text, starting at `src_begin`.
  PassRun(const Pass& pass, absl::string_view src, const size_t* src_origins, size_t src_begin,
          bool track, NormalizedText* dst)
      : pass_(pass),
        src_(src),
        src_origins_(src_origins),
        src_begin_(src_begin),
        track_(track),
        dst_(*dst) {}

  void Run() {
    dst_.Clear();
    size_t at = 0;
    while (at < src_.size()) {
      const auto lead = static_cast<unsigned char>(src_[at]);
      if (lead < 0x80) {
        if (!marks_.empty() && pass_.ascii[lead] == kDropped) {
          ++at;  // the marks on both sides of it become neighbours
          continue;
        }
        FlushMarks();
        at = CopyAscii(at);
      } else {
        const DecodedChar c = DecodeUtf8(src_, at);
        Other(c, at);
        at += c.length;
      }
    }
    FlushMarks();
  }

 private:
  // A mark that waits to be put into canonical order.
  struct PendingMark {
    uint8_t rank;
    char32_t code_point;
    bool first;  // of its character's decomposition
  };

  size_t Origin(size_t at) const {
    return src_origins_ != nullptr ? src_origins_[at] : src_begin_ + at;
  }

  // Maps the ASCII characters from `at` on; returns where they end.
  size_t CopyAscii(size_t at) {
    const size_t begin = dst_.bytes.size();
    size_t end = at;
    while (end < src_.size() && static_cast<unsigned char>(src_[end]) < 0x80) ++end;
    dst_.bytes.resize(begin + (end - at));
    char* out = &dst_.bytes[begin];
    if (track_) dst_.origins.resize(begin + (end - at));
    size_t* origin = track_ ? dst_.origins.data() + begin : nullptr;
    for (size_t i = at; i < end; ++i) {
      const unsigned char mapped = pass_.ascii[static_cast<unsigned char>(src_[i])];
      *out = static_cast<char>(mapped);
      if (track_) {
        *origin = Origin(i);
        origin += mapped != kDropped ? 1 : 0;
      }
      out += mapped != kDropped ? 1 : 0;
    }
    const auto kept = static_cast<size_t>(out - dst_.bytes.data());
    dst_.bytes.resize(kept);
    if (track_) dst_.origins.resize(kept);
    return end;
  }

  void Other(DecodedChar c, size_t at) {
    const uint16_t classes = unicode_.classes(c.code_point) & pass_.relevant_classes;
    if (classes == 0) {
      FlushMarks();
      last_origin_ = Origin(at);
      Append(src_.substr(at, c.length), last_origin_);
    } else if ((classes & kCleanTextSpace) != 0) {
      Decomposed(kSpace, at, /*first=*/true);
    } else if ((classes & kCleanTextRemoved) != 0) {
      // Nothing is flushed: the marks on both sides of it become neighbours.
    } else if ((classes & kChineseChar) != 0) {
      Decomposed(kSpace, at, /*first=*/true);
      Decompose(c.code_point, classes, at);
      Decomposed(kSpace, at, /*first=*/true);
    } else {
      Decompose(c.code_point, classes, at);
    }
  }

  void Decompose(char32_t code_point, uint16_t classes, size_t at) {
    if ((classes & kHasDecomposition) == 0) {
      Decomposed(code_point, at, /*first=*/true);
      return;
    }
    std::array<char32_t, 3> buffer;
    bool first = true;
    for (const char32_t part : unicode_.Decompose(code_point, buffer)) {
      Decomposed(part, at, first);
      first = false;
    }
  }

  // Canonical ordering: a run of marks is sorted by combining class, stably.
  void Decomposed(char32_t code_point, size_t at, bool first) {
    if (pass_.steps.decompose && unicode_.Has(code_point, kCombining)) {
      marks_.push_back({unicode_.CombiningRank(code_point), code_point, first});
      if (first) mark_origins_.push_back(Origin(at));
      return;
    }
    FlushMarks();
    last_origin_ = Origin(at);
    Emit(code_point, last_origin_);
  }

  // The reference counts characters, not identities, when marks change places: the n-th character
  // of the sorted run that begins a decomposition takes the origin of the n-th one of the text.
  void FlushMarks() {
    if (marks_.empty()) return;
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const PendingMark& a, const PendingMark& b) { return a.rank < b.rank; });
    size_t next = 0;
    for (const PendingMark& mark : marks_) {
      if (mark.first) last_origin_ = mark_origins_[next++];
      Emit(mark.code_point, last_origin_);
    }
    marks_.clear();
    mark_origins_.clear();
  }

  void Emit(char32_t code_point, size_t origin) {
    const uint16_t classes = unicode_.classes(code_point);
    if (pass_.steps.drop_nonspacing_marks && (classes & kNonspacingMark) != 0) return;
    if (pass_.steps.drop_marks && (classes & kMark) != 0) return;
    if (pass_.steps.lowercase && (classes & kHasLowercase) != 0) {
      for (const char32_t lower : unicode_.Lowercase(code_point)) AppendChar(lower, origin);
    } else {
      AppendChar(code_point, origin);
    }
  }

  void AppendChar(char32_t code_point, size_t origin) {
    const size_t length = AppendUtf8(code_point, &dst_.bytes);
    if (track_) dst_.origins.insert(dst_.origins.end(), length, origin);
  }

  void Append(absl::string_view bytes, size_t origin) {
    dst_.bytes.append(bytes.data(), bytes.size());
    if (track_) dst_.origins.insert(dst_.origins.end(), bytes.size(), origin);
  }

  const UnicodeProperties& unicode_ = UnicodeProperties::Get();
  const Pass& pass_;
  const absl::string_view src_;
  const size_t* const src_origins_;
  const size_t src_begin_;
  const bool track_;
  NormalizedText& dst_;

  std::vector<PendingMark> marks_;
  std::vector<size_t> mark_origins_;  // of the marks that are first, in text order
  size_t last_origin_ = 0;            // of the last character that began a decomposition
};

Normalizer::Normalizer(const std::vector<NormalizerPass>& passes) {
  for (const NormalizerPass& steps : passes) {
    passes_.push_back({steps, RelevantClasses(steps), AsciiMap(steps)});
    spaces_chinese_chars_ = spaces_chinese_chars_ || steps.space_chinese_chars;
  }
  // The text as it is, so that there is one path.
  if (passes_.empty()) passes_.push_back({{}, 0, AsciiMap({})});
}

void Normalizer::Normalize(absl::string_view text, size_t text_begin, bool origins,
                           NormalizedText* dst, NormalizedText* scratch) const {
  PassRun(passes_[0], text, nullptr, text_begin, origins, dst).Run();
  for (size_t i = 1; i < passes_.size(); ++i) {
    std::swap(*dst, *scratch);
    PassRun(passes_[i], scratch->bytes, origins ? scratch->origins.data() : nullptr, 0, origins,
            dst)
        .Run();
  }
}

std::string Normalizer::Normalize(absl::string_view text) const {
  NormalizedText dst;
  NormalizedText scratch;
  Normalize(text, 0, /*origins=*/false, &dst, &scratch);
  return std::move(dst.bytes);
}

}  // namespace attune
