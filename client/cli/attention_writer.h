// The formats of `attention`.
#ifndef ATTUNE_CLIENT_CLI_ATTENTION_WRITER_H_
#define ATTUNE_CLIENT_CLI_ATTENTION_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "attune/v1/attune.pb.h"
#include "client/cli/attention_source.h"
#include "client/cli/heat_map.h"
#include "client/cli/output_file.h"

namespace attune::cli {

// Takes a map as AttentionSource gives it, and holds one layer. Thread-compatible.
class AttentionWriter {
 public:
  virtual ~AttentionWriter() = default;
  // kInternal if names and numbers of `map` do not fit its shape.
  virtual absl::Status Begin(const v1::AttentionMapResponse& map) = 0;
  virtual absl::Status WriteLayer(const v1::AttentionMapResponse& map,
                                  const AttentionLayer& layer) = 0;
  virtual absl::Status Finish(const v1::AttentionMapResponse& map) = 0;
};

// `out` is borrowed by each.

// Pictures of `query`'s answer, and tables of what comes with it.
std::unique_ptr<AttentionWriter> MakeAttentionPictureWriter(OutputFile& out,
                                                            const v1::AttentionQuery& query,
                                                            const HeatMapStyle& style);
// One JSON object: the texts of `query`, all fields of the reply, and the values as nested arrays
// [layers, heads, queries, keys], in which null is what was not sent.
std::unique_ptr<AttentionWriter> MakeAttentionJsonWriter(OutputFile& out,
                                                         const v1::AttentionQuery& query);
// The values alone as a float32 array [layers, heads, queries, keys]; NaN is what was not sent.
std::unique_ptr<AttentionWriter> MakeAttentionNpyWriter(OutputFile& out);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ATTENTION_WRITER_H_
