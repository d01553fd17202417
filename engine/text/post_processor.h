// Where a model wants its special tokens: around one text, around a pair.
#ifndef ATTUNE_ENGINE_TEXT_POST_PROCESSOR_H_
#define ATTUNE_ENGINE_TEXT_POST_PROCESSOR_H_

#include <cstdint>
#include <vector>

namespace attune {

// One place of a template.
struct TemplatePiece {
  enum class Kind { kFirstText, kSecondText, kSpecial };
  Kind kind = Kind::kFirstText;
  int32_t type_id = 0;
  std::vector<int32_t> ids;  // of a special, which may be several tokens
};

// What a finished encoding is put together from, in order.
struct Template {
  std::vector<TemplatePiece> pieces;

  // Tokens that the template adds to the texts.
  int64_t special_tokens() const {
    int64_t count = 0;
    for (const TemplatePiece& piece : pieces) count += static_cast<int64_t>(piece.ids.size());
    return count;
  }
};

struct PostProcessor {
  Template single;
  Template pair;

  // Adds nothing; a second text has type 1.
  static PostProcessor None();
  // [CLS] A [SEP] and [CLS] A [SEP] B [SEP], the last two of type 1.
  static PostProcessor Bert(int32_t cls_id, int32_t sep_id);
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_POST_PROCESSOR_H_
