// Statistics that tell what an attention head looks at, without its matrix.
#ifndef ATTUNE_ENGINE_INTERPRET_HEAD_SUMMARY_H_
#define ATTUNE_ENGINE_INTERPRET_HEAD_SUMMARY_H_

#include <cstdint>

#include "engine/interpret/token_roles.h"
#include "engine/tensor/matrix.h"

namespace attune {

// By the thresholds of Clark et al. 2019; where several hold, the later one wins, as in their code.
enum class HeadLabel {
  kNone,
  kNext,         // next_mass > 0.5
  kPrevious,     // previous_mass > 0.5
  kBroad,        // HeadSummary::broad()
  kCls,          // cls_mass > 0.6
  kSeparator,    // separator_mass > 0.6
  kPunctuation,  // punctuation_mass > 0.6
};

// Of the weights A [seq, seq] of one head over one text, special tokens included. A mass is the
// mean over all rows of what a row gives there.
struct HeadSummary {
  double self_mass = 0;
  double previous_mass = 0;  // A[i, i - 1], the sum divided by seq
  double next_mass = 0;
  double first_mass = 0;      // to token 0
  double cls_mass = 0;        // to token 0 if the template added it, else 0
  double separator_mass = 0;  // Clark et al. 2019, section 3.2
  double punctuation_mass = 0;
  double separator_to_separator = 0;  // mass on separators over the rows of separators
  double rest_to_separator = 0;       // and over the other rows
  // Mean over rows of -sum A' ln A', A' = 0.9999 A + 0.0001 / seq, in nats (Clark et al. 2019).
  double entropy = 0;
  double entropy_normalized = 0;  // entropy / ln seq; 0 for one token
  double support = 0;             // exp(entropy)
  double first_entropy = 0;       // of row 0
  double distance = 0;            // (1 / seq) sum A |i - j|
  double offset = 0;              // (1 / seq) sum A (j - i)
  double confidence =
      0;  // mean of row maxima, the last separator's column apart (Voita et al. 2019)
  double previous_share = 0;  // of rows, whose maximum is on the token before (Voita et al. 2019)
  double next_share = 0;
  double locality = 0;  // mass at |i - j| <= 2
  double symmetry = 0;  // 1 - sum |A - transpose(A)| / (2 seq)

  // Clark et al. call a head of more than 3.8 nats broad, over texts of up to 128 tokens; in longer
  // and shorter texts this is taken as the same share of ln seq.
  bool broad() const;
  // Voita et al.: confidence > 0.8.
  bool focused() const;
  HeadLabel label() const;
};

// One pass over `weights` [seq, seq], row = query. Sums in f64, logarithms in f32 (relative error
// 1e-7). Thread-safe. REQUIRES: the roles are of the same text.
HeadSummary SummarizeHead(ConstMatrixView weights, const TokenRoles& roles);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_HEAD_SUMMARY_H_
