#ifndef ATTUNE_ENGINE_INTERPRET_TOKEN_ROLES_H_
#define ATTUNE_ENGINE_INTERPRET_TOKEN_ROLES_H_

#include <vector>

namespace attune {

// The tokens of a text that heads are known to look at.
struct TokenRoles {
  bool first_is_special = false;  // the template's [CLS]
  std::vector<bool> separator;    // [seq]: [SEP] and the like
  std::vector<bool> punctuation;  // [seq]: "." and ","
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_TOKEN_ROLES_H_
