#include "client/cli/token_json.h"

namespace attune::cli {

Json TokenToJson(const v1::Token& token) {
  Json json = {{"text", token.text()},
               {"id", token.id()},
               {"bytes", {token.byte_begin(), token.byte_end()}},
               {"code_points", {token.code_point_begin(), token.code_point_end()}},
               {"word", nullptr},
               {"special", token.special()}};
  if (token.word() >= 0) json["word"] = token.word();
  return json;
}

}  // namespace attune::cli
