#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/attention_writer.h"
#include "client/cli/npy_writer.h"

namespace attune::cli {
namespace {

class NpyAttentionWriter : public AttentionWriter {
 public:
  explicit NpyAttentionWriter(OutputFile& out) : out_(out) {}

  absl::Status Begin(const v1::AttentionMapResponse& map) override {
    return out_.Write(NpyHeader(map.shape()));
  }

  absl::Status WriteLayer(const v1::AttentionMapResponse&, const AttentionLayer& layer) override {
    return out_.Write(
        {reinterpret_cast<const char*>(layer.values.data()), layer.values.size() * sizeof(float)});
  }

  absl::Status Finish(const v1::AttentionMapResponse&) override { return absl::OkStatus(); }

 private:
  OutputFile& out_;
};

}  // namespace

std::unique_ptr<AttentionWriter> MakeAttentionNpyWriter(OutputFile& out) {
  return std::make_unique<NpyAttentionWriter>(out);
}

}  // namespace attune::cli
