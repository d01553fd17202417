// What maps need to know about the tokens of a text.
#ifndef ATTUNE_SERVER_MAP_TEXT_H_
#define ATTUNE_SERVER_MAP_TEXT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/engine.h"
#include "engine/text/tokenizer.h"

namespace attune {

// Whether `spans` are ascending, apart and on character borders of `text`. kInvalidArgument names
// query.spans[i], its value and what is wrong.
absl::Status CheckSpans(absl::string_view text, absl::Span<const TextRange> spans);

// `encoding` was made with offsets. Words are the tokenizer's or, where there are any, `spans`: a
// token belongs to the span that its first byte is in, and is a word of its own outside of all.
MapText MakeMapText(const Encoding& encoding, const Tokenizer& tokenizer,
                    absl::Span<const TextRange> spans);

}  // namespace attune

#endif  // ATTUNE_SERVER_MAP_TEXT_H_
