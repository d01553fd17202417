// Cosine similarity of every pair of vectors.
#ifndef ATTUNE_CLIENT_CLI_SIMILARITY_H_
#define ATTUNE_CLIENT_CLI_SIMILARITY_H_

#include <vector>

#include "absl/types/span.h"

namespace attune::cli {

// [n, n], row-major, for n vectors of one length. A zero vector has cosine 0 with every vector.
std::vector<double> CosineMatrix(absl::Span<const std::vector<float>> vectors);

// The Euclidean length.
double Norm(absl::Span<const float> vector);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_SIMILARITY_H_
