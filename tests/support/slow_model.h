// A model that is slow enough to look at a server while it works.
#ifndef ATTUNE_TESTS_SUPPORT_SLOW_MODEL_H_
#define ATTUNE_TESTS_SUPPORT_SLOW_MODEL_H_

#include <string>

#include "tests/support/tiny_model.h"

namespace attune::testing {

// Takes some tenths of a second for a text of 512 tokens.
inline TinyModelOptions SlowModel() {
  TinyModelOptions options;
  options.layers = 24;
  options.heads = 4;
  options.hidden = 128;
  options.ffn = 512;
  options.max_positions = 512;
  return options;
}

inline std::string TextOf512Tokens() {
  std::string text;
  for (int i = 0; i < 510; ++i) text += "cat ";
  return text;
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_SLOW_MODEL_H_
