#ifndef ATTUNE_CLIENT_CLI_FLOAT_BYTES_H_
#define ATTUNE_CLIENT_CLI_FLOAT_BYTES_H_

#include <string>
#include <vector>

namespace attune::cli {

// The little-endian f32 values in `bytes`; a rest of less than four bytes is left out.
std::vector<float> FloatsOf(const std::string& bytes);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_FLOAT_BYTES_H_
