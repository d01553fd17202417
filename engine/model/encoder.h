// The transformer encoder (Vaswani et al. 2017; BERT, Devlin et al. 2019), post-norm:
//   embed -> N x (attention -> add & norm -> feed-forward -> add & norm)
#ifndef ATTUNE_ENGINE_MODEL_ENCODER_H_
#define ATTUNE_ENGINE_MODEL_ENCODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/team.h"
#include "engine/model/batch.h"
#include "engine/model/config.h"
#include "engine/model/head_ablation.h"
#include "engine/model/layer_tap.h"
#include "engine/model/weights.h"
#include "engine/ops/attention.h"
#include "engine/ops/linear.h"
#include "engine/ops/linear_input.h"
#include "engine/ops/op_context.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Which token rows of each text a pass returns.
enum class TextRows {
  kAll,
  kFirst,  // the first token's only, as CLS pooling reads
  kLast,   // the last token's only
};

// What a thread computes a chunk of rows with. Thread-compatible.
class RowScratch {
 public:
  RowScratch(const ModelConfig& config, Precision precision);

  // `rows` in the form linear layers read: themselves in f32, else room for a copy, which holds
  // until the next call. At most a chunk of rows.
  LinearInputView PackedFor(MatrixView rows);
  // Room for the feed-forward activations [rows, ffn] of at most a chunk of rows.
  LinearInputView Ffn(int64_t rows);

 private:
  LinearInput packed_;  // [row chunk, hidden]: none in f32
  LinearInput ffn_;     // [row chunk, ffn]
};

// A thread's place in a team: what is its own while it works on a pass that may be another's.
struct EncoderSeat {
  OpContext& context;
  RowScratch& scratch;
};

// Who computes a pass together.
using EncoderTeam = Team<EncoderSeat>;

// Activations of one forward pass. Grows to the largest batch it has seen and keeps that memory.
// Thread-compatible; belongs to one Session.
class EncoderWorkspace {
 public:
  explicit EncoderWorkspace(const ModelConfig& config, Precision precision = Precision::kF32);

  // Makes room for `tokens` rows; no allocation when there is already. Growing loses the content.
  void Reserve(int64_t tokens);

  // The residual stream [tokens, hidden] for the `tokens` last reserved, by a pass or by a caller.
  // Saving it, and later reserving as many rows and restoring it, resumes a pass that was set aside
  // between two layers.
  MatrixView hidden();

 private:
  friend class Encoder;
  // Moves the rows to keep to the front and forgets the others.
  void Keep(TextRows rows, const Batch& batch);

  const ModelConfig config_;
  int64_t tokens_ = 0;  // rows in use; the matrices have Linear::PaddedRows of the most so far
  Matrix hidden_;       // [tokens, hidden]: the residual stream
  Matrix qkv_;          // [tokens, 3 * hidden]
  Matrix attention_;    // [tokens, hidden]: the heads' outputs side by side
  RowScratch scratch_;  // of the thread that the workspace belongs to
};

// Immutable and thread-safe: one Encoder is shared by all workers, each with its own OpContext and
// EncoderWorkspace.
class Encoder {
 public:
  // Gives the plain weights of a layer, 0-based. Called once for each, in order.
  using ReadLayer = absl::FunctionRef<absl::StatusOr<LayerWeights>(int64_t layer)>;

  // Packs the weights: `embeddings` has everything but the layers, whose plain weights are in
  // memory one layer at a time. Errors as Linear::Create and read_layer.
  static absl::StatusOr<std::unique_ptr<const Encoder>> Create(const ModelConfig& config,
                                                               ModelWeights embeddings,
                                                               ReadLayer read_layer,
                                                               const LinearOptions& options);
  // The same from weights that are in memory, each layer's freed when it has been packed.
  static absl::StatusOr<std::unique_ptr<const Encoder>> Create(const ModelConfig& config,
                                                               ModelWeights weights,
                                                               const LinearOptions& options = {});
  ~Encoder();

  // The most bytes that a model of this shape takes: packed weights and tables, with the plain
  // layer that is being packed; and the activations of a thread for a batch of `tokens` tokens in
  // texts of up to `seq`.
  static int64_t WeightBytes(const ModelConfig& config, Precision precision);
  static int64_t ActivationBytes(const ModelConfig& config, int64_t tokens, int64_t seq);

  struct ForwardOptions {
    LayerTap* tap = nullptr;  // borrowed; null when nobody listens
    // Heads that do something else than attend, which every later step sees. Borrowed; null: none.
    const HeadAblation* ablation = nullptr;
    // Asked between layers: true ends the pass with kCancelled, so that work nobody waits for
    // stops early. Null means never.
    std::function<bool()> should_stop = nullptr;
    // The last layer computes no other rows where it need not. The rows' bits are those of kAll.
    // With a tap, which sees all rows, it must be kAll.
    TextRows rows = TextRows::kAll;
    // Borrowed: the team that shares the pass, led by the calling thread, which dismisses it at the
    // end. Changes no bit. Null: the calling thread alone.
    EncoderTeam* team = nullptr;
  };

  // How many helpers a pass of so many tokens has work for.
  static int MostHelpers(int64_t tokens);

  // Helps with another thread's pass through the same encoder, until it ends or, between two steps,
  // `should_leave`. `context` and `workspace` are the calling thread's own.
  static void Help(OpContext& context, EncoderWorkspace& workspace, EncoderTeam& team,
                   absl::FunctionRef<bool()> should_leave);

  // The two steps of Forward, for callers who set a pass aside between layers.
  // Embed starts a pass: workspace.hidden() becomes the embedding layer's output. RunLayer takes it
  // through layer `layer`, 0-based. Errors as for Forward.
  absl::Status Embed(const Batch& batch, EncoderWorkspace& workspace) const;
  absl::Status RunLayer(OpContext& context, const Batch& batch, int64_t layer,
                        EncoderWorkspace& workspace, LayerTap* tap,
                        const HeadAblation* ablation = nullptr) const;

  // Runs the whole pass and returns the last hidden state, valid until the next use of `workspace`:
  // [batch.tokens(), hidden], or [batch.texts(), hidden] of one row a text. A row depends only on
  // the text it belongs to, bit for bit. kInvalidArgument if a token or type id is outside its
  // table, a text is longer than the position table, or vectors given for it are not of `hidden`
  // values (checked before any work); kCancelled as above; kResourceExhausted if memory runs out in
  // a layer; kInternal if oneDNN fails.
  absl::StatusOr<ConstMatrixView> Forward(OpContext& context, const Batch& batch,
                                          EncoderWorkspace& workspace,
                                          const ForwardOptions& options) const;

  const ModelConfig& config() const { return config_; }
  Precision precision() const;
  // What computes the linear layers, as Linear::kernel_name, and attention where that is not in
  // f32.
  std::string kernel_name() const;

 private:
  struct Layer;
  struct Pass;
  Encoder(const ModelConfig& config, ModelWeights embeddings, AttentionProducts products);

  absl::Status CheckBatch(const Batch& batch) const;

  // The steps of a layer, each shared out to the pass's team. Update can take the projection of the
  // next layer along.
  absl::Status Project(Pass& pass, const Layer& layer) const;
  absl::Status Attend(Pass& pass, int64_t layer) const;
  // What differs from Attend's plain work when somebody listens, or heads are ablated.
  void AttendTapped(Pass& pass, int64_t layer) const;
  void AblateHeads(Pass& pass, int64_t layer) const;
  absl::Status Update(Pass& pass, int64_t layer, bool project_next) const;
  // What Update does to the rows of a text, for rows of a tap's own.
  absl::Status Finish(Pass& pass, const Layer& layer, MatrixView hidden,
                      MatrixView attention) const;

  // Their parts. Each names the rows or heads it reads and writes: rows in multiples of
  // Linear::kRowGroup, at most a chunk of them.
  absl::Status ProjectRows(EncoderSeat& seat, const Layer& layer, int64_t begin, int64_t end,
                           EncoderWorkspace& workspace) const;
  void AttendHeads(EncoderSeat& seat, const Batch& batch, int64_t text, HeadRange heads,
                   EncoderWorkspace& workspace, AttentionWeightsSink* sink) const;
  absl::Status UpdateRows(EncoderSeat& seat, const Layer& layer, MatrixView hidden,
                          MatrixView attention) const;

  const ModelConfig config_;
  const AttentionProducts attention_products_;
  ModelWeights embeddings_;  // without layers: those are packed in layers_
  std::vector<Layer> layers_;
  std::vector<int32_t> positions_;  // 0, 1, ..., max_positions - 1
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_ENCODER_H_
