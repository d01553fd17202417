// The engine as the server sees it: one immutable Engine, one Session per worker thread.
#ifndef ATTUNE_ENGINE_ENGINE_H_
#define ATTUNE_ENGINE_ENGINE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/interpret/attend.h"
#include "engine/interpret/attention_mapper.h"
#include "engine/interpret/selection.h"
#include "engine/interpret/similarity_explanation.h"
#include "engine/model/batch.h"
#include "engine/model/encoder.h"
#include "engine/model/layer_tap.h"
#include "engine/model/model_folder.h"
#include "engine/ops/linear.h"
#include "engine/ops/op_context.h"
#include "engine/ops/pooling.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"
#include "engine/text/tokenizer.h"

namespace attune {

class Session;

// Who finds helpers for a session's passes. Thread-compatible, as its session.
class HelperSource {
 public:
  virtual ~HelperSource() = default;
  // A new team of at most `most` helpers, who are called now and come when they can; null when
  // nobody is free. Lives until the next call. Must not block.
  virtual EncoderTeam* Invite(int most) = 0;
};

// How a model is to run.
struct EngineOptions {
  Precision precision = Precision::kF32;
  LinearKernels kernels = LinearKernels::kAuto;
};

// A loaded model: configuration, tokenizer and packed weights. Immutable and thread-safe; shared by
// everyone who computes.
class Engine {
 public:
  // Loads `model_path` and checks that its parts fit together: every id that the tokenizer can emit
  // has an embedding row. Errors name the file and the reason; kUnimplemented if this CPU
  // cannot run the precision. Takes seconds.
  static absl::StatusOr<std::shared_ptr<const Engine>> Load(const std::string& model_path,
                                                            const EngineOptions& options = {});

  const ModelFolder& folder() const { return folder_; }
  const ModelConfig& config() const { return folder_.config; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  Precision precision() const { return encoder_->precision(); }
  // The matrix kernels that run, e.g. "brg:avx512_core" of oneDNN.
  std::string kernel_name() const { return encoder_->kernel_name(); }

  // How a text vector is made from the text's token vectors.
  struct PoolingPlan {
    std::vector<PoolingMode> modes;  // results side by side, in this order
    bool normalize = false;
    int64_t dimension(int64_t hidden) const { return hidden * static_cast<int64_t>(modes.size()); }
    // The rows of a text that PoolText reads. It may be given these alone.
    TextRows rows_wanted() const;
  };
  // The plan the model folder asks for.
  PoolingPlan default_pooling() const { return {folder_.pooling, folder_.normalize}; }

 private:
  friend class Session;
  Engine(ModelFolder folder, std::unique_ptr<const Tokenizer> tokenizer,
         std::unique_ptr<const Encoder> encoder);

  const ModelFolder folder_;
  const std::unique_ptr<const Tokenizer> tokenizer_;
  const std::unique_ptr<const Encoder> encoder_;
};

// dst[plan.dimension] = the text vector of tokens[seq, hidden], which are all of a text's or those
// of plan.rows_wanted. kInternal if it is not finite.
absl::Status PoolText(const Engine::PoolingPlan& plan, ConstMatrixView tokens,
                      absl::Span<float> dst);

// One worker's scratch memory, stream and workspace. Thread-compatible: create it on the thread
// that uses it. Keeps its engine alive.
class Session {
 public:
  // Memory for batches of up to `reserve_tokens` is taken now; a larger batch grows it. Passes are
  // shared with whom `helpers` finds (borrowed; null: nobody), which changes no bit of a result.
  Session(std::shared_ptr<const Engine> engine, int64_t reserve_tokens,
          HelperSource* helpers = nullptr);

  // The last hidden state, as Encoder::Forward, valid until the next call. options.team is the
  // session's business.
  absl::StatusOr<ConstMatrixView> Forward(const Batch& batch,
                                          const Encoder::ForwardOptions& options);

  // The steps of a pass that is set aside between layers, by any session of the engine: the
  // embedding layer's output [tokens, hidden], and `hidden` taken through layer `layer`. Same bits
  // and errors as Forward; taps are told of layers, not of the embedding layer.
  absl::StatusOr<Matrix> Embed(const Batch& batch);
  absl::Status RunLayer(const Batch& batch, int64_t layer, LayerTap* tap,
                        const HeadAblation* ablation, Matrix& hidden);

  // Helps with another session's pass until it ends or, between two steps, `should_leave`. Both
  // sessions are of one engine.
  void Help(EncoderTeam& team, absl::FunctionRef<bool()> should_leave);

  const Engine& engine() const { return *engine_; }

 private:
  const std::shared_ptr<const Engine> engine_;
  HelperSource* const helpers_;
  OpContext context_;
  EncoderWorkspace workspace_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_ENGINE_H_
