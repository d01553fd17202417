// Where the default model, all-MiniLM-L6-v2, is: in the environment variable ATTUNE_TEST_MODEL, or
// in the cache that the product uses.
#ifndef ATTUNE_TESTS_GOLDEN_DEFAULT_MODEL_H_
#define ATTUNE_TESTS_GOLDEN_DEFAULT_MODEL_H_

#include <cstdlib>
#include <string>

namespace attune::testing {

// The value of an environment variable; "" where it is not set.
inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline std::string DefaultModelPath() {
  const std::string given = Environment("ATTUNE_TEST_MODEL");
  if (!given.empty()) return given;
  std::string cache = Environment("XDG_CACHE_HOME");
  if (cache.empty()) cache = Environment("HOME") + "/.cache";
  return cache + "/attune/all-MiniLM-L6-v2";
}

// What a test that cannot load it says.
inline std::string NeedsDefaultModel() {
  return "This test needs the model all-MiniLM-L6-v2, and " + DefaultModelPath() +
         " cannot be loaded.\nSet ATTUNE_TEST_MODEL to the model's folder, or put it there.";
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_GOLDEN_DEFAULT_MODEL_H_
