#include "engine/text/post_processor.h"

namespace attune {

PostProcessor PostProcessor::None() {
  using Kind = TemplatePiece::Kind;
  return {{{{Kind::kFirstText, 0, {}}}}, {{{Kind::kFirstText, 0, {}}, {Kind::kSecondText, 1, {}}}}};
}

PostProcessor PostProcessor::Bert(int32_t cls_id, int32_t sep_id) {
  using Kind = TemplatePiece::Kind;
  const TemplatePiece cls = {Kind::kSpecial, 0, {cls_id}};
  const TemplatePiece first = {Kind::kFirstText, 0, {}};
  const TemplatePiece sep = {Kind::kSpecial, 0, {sep_id}};
  const TemplatePiece second = {Kind::kSecondText, 1, {}};
  const TemplatePiece second_sep = {Kind::kSpecial, 1, {sep_id}};
  return {{{cls, first, sep}}, {{cls, first, sep, second, second_sep}}};
}

}  // namespace attune
