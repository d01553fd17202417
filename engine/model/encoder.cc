#include "engine/model/encoder.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/base/check.h"
#include "engine/base/mutex.h"
#include "engine/base/status_macros.h"
#include "engine/ops/activation.h"
#include "engine/ops/attention.h"
#include "engine/ops/denormals.h"
#include "engine/ops/embedding.h"
#include "engine/ops/layer_norm.h"

namespace attune {
namespace {

// The feed-forward activations of this many rows stay in the L2 cache between the steps that write
// and read them.
constexpr int64_t kRowChunk = 96;
static_assert(kRowChunk % Linear::kRowGroup == 0);

// A pass of fewer rows has no work for a second thread.
constexpr int64_t kLeastSharedRows = 16;
// Every thread reads all the weights for its rows, so with many threads each should have some.
constexpr int64_t kRowsPerThread = 32;

bool IsAblated(const HeadAblation* ablation, int64_t layer, int64_t head) {
  return ablation != nullptr && ablation->mode(layer, head) != AblationMode::kNone;
}

// Hands one text's attention weights of one layer to the tap: those that were computed, not those
// of ablated heads.
class TapSink final : public AttentionWeightsSink {
 public:
  TapSink(LayerTap& tap, const HeadAblation* ablation, int64_t text, int64_t layer)
      : tap_(tap), ablation_(ablation), text_(text), layer_(layer) {}

  bool Wants(int64_t head) override {
    return tap_.WantsWeights(layer_, head) && !IsAblated(ablation_, layer_, head);
  }
  void OnWeights(int64_t head, ConstMatrixView weights) override {
    tap_.OnWeights(text_, layer_, head, weights);
  }

 private:
  LayerTap& tap_;
  const HeadAblation* const ablation_;
  const int64_t text_;
  const int64_t layer_;
};

LayerNormParams NormParams(const ModelConfig& config, const LayerNormWeights& weights) {
  return {weights.gamma.span(), weights.beta.span(), config.layer_norm_epsilon};
}

// Packs and frees the plain weights.
absl::StatusOr<std::unique_ptr<const Linear>> PackLinear(LinearWeights& weights,
                                                         const LinearOptions& options) {
  auto linear = Linear::Create(weights.weights.view(), weights.bias.span(), options);
  weights = LinearWeights();
  return linear;
}

size_t PackedBytes(const ModelConfig& config, Precision precision) {
  const auto bytes = [precision](int64_t out, int64_t in) {
    return Linear::PackedBytes(out, in, precision);
  };
  const int64_t hidden = config.hidden;
  const int64_t layer = bytes(3 * hidden, hidden) + bytes(hidden, hidden) +
                        bytes(config.ffn, hidden) + bytes(hidden, config.ffn);
  return static_cast<size_t>(config.layers * layer);
}

// `rows` rows cut for `lanes` threads: as many parts for each, as even as groups of rows allow, and
// none larger than a chunk.
class RowParts {
 public:
  RowParts(int64_t rows, int lanes) : rows_(rows) {
    const int64_t rounds = CeilDiv(rows, lanes * kRowChunk);
    if (rows > 0) part_rows_ = Linear::PaddedRows(CeilDiv(rows, lanes * rounds));
  }
  int count() const { return static_cast<int>(CeilDiv(rows_, part_rows_)); }
  int64_t begin(int part) const { return part * part_rows_; }
  int64_t end(int part) const { return std::min(rows_, begin(part) + part_rows_); }

 private:
  static int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

  const int64_t rows_;
  int64_t part_rows_ = Linear::kRowGroup;
};

// The first error of several threads.
class FirstError {
 public:
  void Note(absl::Status status) {
    if (status.ok()) return;
    MutexLock lock(mu_);
    status_.Update(status);
  }
  absl::Status Take() {
    MutexLock lock(mu_);
    return std::move(status_);
  }

 private:
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// Calls body(seat, part) for each part, on whoever of the team takes it.
template <typename Body>
absl::Status ShareOut(EncoderTeam& team, EncoderSeat& seat, int parts, Body body) {
  FirstError error;
  team.Run(seat, parts, [&](EncoderSeat& own, int part) {
    try {
      error.Note(body(own, part));
    } catch (const std::bad_alloc&) {  // must not leave a step, on any thread
      error.Note(absl::ResourceExhaustedError("not enough memory for a layer's scratch"));
    }
  });
  return error.Take();
}

absl::Status CheckIds(absl::string_view name, absl::Span<const int32_t> ids, int64_t table_rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= table_rows) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " id ", ids[i], " at token ", i, " is outside [0, ", table_rows, ")"));
    }
  }
  return absl::OkStatus();
}

// A model whose linear layers round their inputs loses nothing more that matters where attention
// does too. Around oneDNN's kernels it stays in f32, so that there is something to compare ours
// with.
AttentionProducts ProductsOf(const LinearOptions& options) {
  const bool rounds = options.precision != Precision::kF32;
  if (!rounds || options.kernels == LinearKernels::kOneDnn) return AttentionProducts::kF32;
  return FasterAttentionProducts();
}

}  // namespace

RowScratch::RowScratch(const ModelConfig& config, Precision precision)
    : packed_(precision, precision == Precision::kF32 ? 0 : kRowChunk, config.hidden),
      ffn_(precision, kRowChunk, config.ffn) {}

LinearInputView RowScratch::PackedFor(MatrixView rows) {
  if (packed_.rows() == 0) return LinearInputView(rows);
  return packed_.view().Rows(0, rows.rows);
}

LinearInputView RowScratch::Ffn(int64_t rows) { return ffn_.view().Rows(0, rows); }

EncoderWorkspace::EncoderWorkspace(const ModelConfig& config, Precision precision)
    : config_(config),
      hidden_(0, config.hidden),
      qkv_(0, 3 * config.hidden),
      attention_(0, config.hidden),
      scratch_(config, precision) {}

void EncoderWorkspace::Reserve(int64_t tokens) {
  tokens_ = tokens;
  const int64_t rows = Linear::PaddedRows(tokens);
  if (rows <= hidden_.rows()) return;
  hidden_ = Matrix(rows, config_.hidden);
  qkv_ = Matrix(rows, 3 * config_.hidden);
  attention_ = Matrix(rows, config_.hidden);
}

MatrixView EncoderWorkspace::hidden() { return hidden_.view().Rows(0, tokens_); }

void EncoderWorkspace::Keep(TextRows rows, const Batch& batch) {
  if (rows == TextRows::kAll) return;
  // Ascending: no row is overwritten before it has moved, since text i starts at row i or later.
  for (int64_t text = 0; text < batch.texts(); ++text) {
    const int64_t first = batch.row_begin[static_cast<size_t>(text)];
    const int64_t kept = rows == TextRows::kFirst ? first : first + batch.seq(text) - 1;
    for (Matrix* matrix : {&hidden_, &attention_}) {
      if (kept == text) continue;
      std::copy_n(matrix->row(kept).data(), matrix->cols(), matrix->row(text).data());
    }
  }
  tokens_ = batch.texts();
}

struct Encoder::Layer {
  std::unique_ptr<const Linear> qkv;
  std::unique_ptr<const Linear> attention_output;
  LayerNormWeights attention_norm;
  std::unique_ptr<const Linear> ffn_input;
  std::unique_ptr<const Linear> ffn_output;
  LayerNormWeights ffn_norm;
};

// A forward pass under way.
struct Encoder::Pass {
  const Batch& batch;
  EncoderWorkspace& workspace;
  LayerTap* tap;
  const HeadAblation* ablation;
  EncoderTeam& team;
  EncoderSeat seat;  // the leader's
};

Encoder::Encoder(const ModelConfig& config, ModelWeights embeddings, AttentionProducts products)
    : config_(config),
      attention_products_(products),
      embeddings_(std::move(embeddings)),
      positions_(static_cast<size_t>(config.max_positions)) {
  std::iota(positions_.begin(), positions_.end(), 0);
}

Encoder::~Encoder() = default;

int64_t Encoder::WeightBytes(const ModelConfig& config, Precision precision) {
  const int64_t tables = config.vocab + config.max_positions + config.type_vocab;
  const int64_t plain_layer = 4 * config.hidden + 2 * config.ffn;
  return static_cast<int64_t>(PackedBytes(config, precision)) +
         (tables + plain_layer) * config.hidden * int64_t{sizeof(float)};
}

int64_t Encoder::ActivationBytes(const ModelConfig& config, int64_t tokens, int64_t seq) {
  // Residual stream, queries, keys, values, heads' outputs and some scratch; a layer's scores.
  return (tokens * (8 * config.hidden + config.ffn) + config.heads * seq * seq) *
         int64_t{sizeof(float)};
}

Precision Encoder::precision() const { return layers_.front().qkv->precision(); }
std::string Encoder::kernel_name() const {
  const bool bf16 = attention_products_ == AttentionProducts::kBf16;
  return absl::StrCat(layers_.front().qkv->kernel_name(), bf16 ? " attention:avx512_bf16" : "");
}

absl::StatusOr<std::unique_ptr<const Encoder>> Encoder::Create(const ModelConfig& config,
                                                               ModelWeights embeddings,
                                                               ReadLayer read_layer,
                                                               const LinearOptions& options) {
  std::unique_ptr<Encoder> encoder(new Encoder(config, std::move(embeddings), ProductsOf(options)));
  Arena arena(PackedBytes(config, options.precision));
  LinearOptions in_arena = options;
  in_arena.arena = &arena;
  for (int64_t i = 0; i < config.layers; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(LayerWeights plain, read_layer(i));
    Layer layer;
    ATTUNE_ASSIGN_OR_RETURN(layer.qkv, PackLinear(plain.qkv, in_arena));
    ATTUNE_ASSIGN_OR_RETURN(layer.attention_output, PackLinear(plain.attention_output, in_arena));
    ATTUNE_ASSIGN_OR_RETURN(layer.ffn_input, PackLinear(plain.ffn_input, in_arena));
    ATTUNE_ASSIGN_OR_RETURN(layer.ffn_output, PackLinear(plain.ffn_output, in_arena));
    layer.attention_norm = std::move(plain.attention_norm);
    layer.ffn_norm = std::move(plain.ffn_norm);
    encoder->layers_.push_back(std::move(layer));
  }
  return std::unique_ptr<const Encoder>(std::move(encoder));
}

absl::StatusOr<std::unique_ptr<const Encoder>> Encoder::Create(const ModelConfig& config,
                                                               ModelWeights weights,
                                                               const LinearOptions& options) {
  std::vector<LayerWeights> layers = std::move(weights.layers);
  return Create(
      config, std::move(weights),
      [&layers](int64_t layer) { return std::move(layers[static_cast<size_t>(layer)]); }, options);
}

int Encoder::MostHelpers(int64_t tokens) {
  if (tokens < kLeastSharedRows) return 0;
  return static_cast<int>(std::max<int64_t>(1, tokens / kRowsPerThread - 1));
}

void Encoder::Help(OpContext& context, EncoderWorkspace& workspace, EncoderTeam& team,
                   absl::FunctionRef<bool()> should_leave) {
  const ScopedFlushDenormals flush_denormals;
  EncoderSeat seat{context, workspace.scratch_};
  team.Help(seat, should_leave);
}

absl::StatusOr<ConstMatrixView> Encoder::Forward(OpContext& context, const Batch& batch,
                                                 EncoderWorkspace& workspace,
                                                 const ForwardOptions& options) const {
  ATTUNE_CHECK(options.tap == nullptr || options.rows == TextRows::kAll);
  const ScopedFlushDenormals flush_denormals;
  EncoderTeam alone(0);
  EncoderTeam& team = options.team == nullptr ? alone : *options.team;
  const absl::Cleanup dismiss = [&team] { team.Dismiss(); };
  Pass pass{batch, workspace, options.tap, options.ablation, team, {context, workspace.scratch_}};

  ATTUNE_RETURN_IF_ERROR(Embed(batch, workspace));
  if (options.tap != nullptr) options.tap->OnHidden(0, workspace.hidden());
  ATTUNE_RETURN_IF_ERROR(Project(pass, layers_.front()));
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    if (options.should_stop && options.should_stop()) {
      return absl::CancelledError(
          absl::StrCat("stopped before encoder layer ", layer, " of ", config_.layers));
    }
    const bool last = layer + 1 == config_.layers;
    ATTUNE_RETURN_IF_ERROR(Attend(pass, layer));
    if (last) workspace.Keep(options.rows, batch);
    ATTUNE_RETURN_IF_ERROR(Update(pass, layer, /*project_next=*/!last));
  }
  return workspace.hidden();
}

absl::Status Encoder::Embed(const Batch& batch, EncoderWorkspace& workspace) const {
  ATTUNE_RETURN_IF_ERROR(CheckBatch(batch));
  const ScopedFlushDenormals flush_denormals;
  workspace.Reserve(batch.tokens());
  const EmbeddingTables tables = {embeddings_.word_embeddings.view(),
                                  embeddings_.type_embeddings.view(),
                                  embeddings_.position_embeddings.view()};
  for (int64_t text = 0; text < batch.texts(); ++text) {
    const int64_t begin = batch.row_begin[static_cast<size_t>(text)];
    const auto first = static_cast<size_t>(begin);
    const auto seq = static_cast<size_t>(batch.seq(text));
    const absl::Span<const int32_t> types = absl::MakeConstSpan(batch.type_ids).subspan(first, seq);
    const absl::Span<const int32_t> positions = absl::MakeConstSpan(positions_).first(seq);
    const MatrixView rows = workspace.hidden().Rows(begin, begin + batch.seq(text));
    const ConstMatrixView vectors = batch.VectorsOf(text);
    if (vectors.rows > 0) {
      SumGivenEmbeddings(vectors, tables, types, positions, rows);
    } else {
      SumEmbeddings(tables, absl::MakeConstSpan(batch.token_ids).subspan(first, seq), types,
                    positions, rows);
    }
  }
  LayerNorm(NormParams(config_, embeddings_.embedding_norm), workspace.hidden());
  return absl::OkStatus();
}

absl::Status Encoder::RunLayer(OpContext& context, const Batch& batch, int64_t layer,
                               EncoderWorkspace& workspace, LayerTap* tap,
                               const HeadAblation* ablation) const {
  const ScopedFlushDenormals flush_denormals;
  EncoderTeam alone(0);
  Pass pass{batch, workspace, tap, ablation, alone, {context, workspace.scratch_}};
  ATTUNE_RETURN_IF_ERROR(Project(pass, layers_[static_cast<size_t>(layer)]));
  ATTUNE_RETURN_IF_ERROR(Attend(pass, layer));
  return Update(pass, layer, /*project_next=*/false);
}

// queries, keys, values = W_qkv hidden + b_qkv
absl::Status Encoder::Project(Pass& pass, const Layer& layer) const {
  const RowParts parts(pass.workspace.tokens_, pass.team.lanes());
  return ShareOut(pass.team, pass.seat, parts.count(), [&](EncoderSeat& seat, int part) {
    return ProjectRows(seat, layer, parts.begin(part), parts.end(part), pass.workspace);
  });
}

absl::Status Encoder::ProjectRows(EncoderSeat& seat, const Layer& layer, int64_t begin, int64_t end,
                                  EncoderWorkspace& workspace) const {
  const MatrixView hidden = workspace.hidden_.view().Rows(begin, end);
  const LinearInputView input = seat.scratch.PackedFor(hidden);
  PackLinearInput(hidden, input);
  return layer.qkv->Run(seat.context, input, workspace.qkv_.view().Rows(begin, end));
}

// attention = softmax(queries keys^T / sqrt(head_dim)) values, within each text and its window
absl::Status Encoder::Attend(Pass& pass, int64_t layer) const {
  if (pass.tap != nullptr) {
    AttendTapped(pass, layer);
    return absl::OkStatus();
  }
  // Each text in as many parts as there are lanes.
  const int lanes = pass.team.lanes();
  const int parts = lanes * static_cast<int>(pass.batch.texts());
  ATTUNE_RETURN_IF_ERROR(ShareOut(pass.team, pass.seat, parts, [&](EncoderSeat& seat, int part) {
    const int64_t lane = part % lanes;
    const HeadRange heads = {config_.heads * lane / lanes, config_.heads * (lane + 1) / lanes};
    AttendHeads(seat, pass.batch, part / lanes, heads, pass.workspace, nullptr);
    return absl::OkStatus();
  }));
  if (pass.ablation != nullptr) AblateHeads(pass, layer);
  return absl::OkStatus();
}

void Encoder::AttendTapped(Pass& pass, int64_t layer) const {
  for (int64_t text = 0; text < pass.batch.texts(); ++text) {
    TapSink sink(*pass.tap, pass.ablation, text, layer);
    AttendHeads(pass.seat, pass.batch, text, {0, config_.heads}, pass.workspace, &sink);
  }
  if (pass.ablation != nullptr) AblateHeads(pass, layer);
  if (!pass.tap->WantsAttention(layer)) return;
  const Layer& weights = layers_[static_cast<size_t>(layer)];
  EncoderWorkspace& workspace = pass.workspace;
  for (int64_t text = 0; text < pass.batch.texts(); ++text) {
    const int64_t begin = pass.batch.row_begin[static_cast<size_t>(text)];
    const int64_t end = begin + pass.batch.seq(text);
    const auto finish = [&](MatrixView residual, MatrixView mixed) {
      return Finish(pass, weights, residual, mixed);
    };
    pass.tap->OnAttention({.text = text,
                           .layer = layer,
                           .input = workspace.hidden_.view().Rows(begin, end),
                           .qkv = workspace.qkv_.view().Rows(begin, end),
                           .mixed = workspace.attention_.view().Rows(begin, end),
                           .output = *weights.attention_output,
                           .norm = weights.attention_norm,
                           .epsilon = config_.layer_norm_epsilon,
                           .context = pass.seat.context,
                           .finish = finish});
  }
}

void Encoder::AblateHeads(Pass& pass, int64_t layer) const {
  const int64_t head_dim = config_.head_dim();
  for (int64_t text = 0; text < pass.batch.texts(); ++text) {
    const int64_t begin = pass.batch.row_begin[static_cast<size_t>(text)];
    const int64_t end = begin + pass.batch.seq(text);
    const AttentionWindow window = pass.batch.WindowOf(text);
    for (int64_t head = 0; head < config_.heads; ++head) {
      if (!IsAblated(pass.ablation, layer, head)) continue;
      const AblationMode mode = pass.ablation->mode(layer, head);
      const int64_t column = head * head_dim;
      const int64_t value_column = 2 * config_.hidden + column;
      AblateHead(
          mode, window,
          pass.workspace.qkv_.view().Rows(begin, end).Cols(value_column, value_column + head_dim),
          pass.workspace.attention_.view().Rows(begin, end).Cols(column, column + head_dim));
      if (pass.tap == nullptr || !pass.tap->WantsWeights(layer, head)) continue;
      pass.tap->OnWeights(text, layer, head, AblatedWeights(mode, window, end - begin).view());
    }
  }
}

void Encoder::AttendHeads(EncoderSeat& seat, const Batch& batch, int64_t text, HeadRange heads,
                          EncoderWorkspace& workspace, AttentionWeightsSink* sink) const {
  const int64_t begin = batch.row_begin[static_cast<size_t>(text)];
  const int64_t end = begin + batch.seq(text);
  SelfAttention(seat.context, workspace.qkv_.view().Rows(begin, end),
                AttentionShape{.heads = config_.heads,
                               .window = batch.WindowOf(text),
                               .range = heads,
                               .products = attention_products_},
                workspace.attention_.view().Rows(begin, end), sink);
}

// The rows of the next layer's projection depend on nothing but these rows, which are still in the
// cache.
absl::Status Encoder::Update(Pass& pass, int64_t layer, bool project_next) const {
  const auto index = static_cast<size_t>(layer);
  const RowParts parts(pass.workspace.tokens_, pass.team.lanes());
  const auto update_rows = [&](EncoderSeat& seat, int part) -> absl::Status {
    const int64_t begin = parts.begin(part);
    const int64_t end = parts.end(part);
    ATTUNE_RETURN_IF_ERROR(UpdateRows(seat, layers_[index],
                                      pass.workspace.hidden_.view().Rows(begin, end),
                                      pass.workspace.attention_.view().Rows(begin, end)));
    if (!project_next) return absl::OkStatus();
    return ProjectRows(seat, layers_[index + 1], begin, end, pass.workspace);
  };
  ATTUNE_RETURN_IF_ERROR(ShareOut(pass.team, pass.seat, parts.count(), update_rows));
  if (pass.tap != nullptr) pass.tap->OnHidden(layer + 1, pass.workspace.hidden());
  return absl::OkStatus();
}

absl::Status Encoder::Finish(Pass& pass, const Layer& layer, MatrixView hidden,
                             MatrixView attention) const {
  const RowParts parts(hidden.rows, pass.team.lanes());
  return ShareOut(pass.team, pass.seat, parts.count(), [&](EncoderSeat& seat, int part) {
    const int64_t begin = parts.begin(part);
    const int64_t end = parts.end(part);
    return UpdateRows(seat, layer, hidden.Rows(begin, end), attention.Rows(begin, end));
  });
}

// hidden = norm(hidden + W_o attention + b_o)
// hidden = norm(hidden + W_2 activation(W_1 hidden + b_1) + b_2)
absl::Status Encoder::UpdateRows(EncoderSeat& seat, const Layer& layer, MatrixView hidden,
                                 MatrixView attention) const {
  const LinearInputView ffn = seat.scratch.Ffn(hidden.rows);

  const LinearInputView attended = seat.scratch.PackedFor(attention);
  PackLinearInput(attention, attended);
  ATTUNE_RETURN_IF_ERROR(layer.attention_output->RunAdd(seat.context, attended, hidden));
  const LinearInputView normed = seat.scratch.PackedFor(hidden);
  LayerNorm(NormParams(config_, layer.attention_norm), hidden, normed);

  ATTUNE_RETURN_IF_ERROR(
      layer.ffn_input->RunActivation(seat.context, normed, config_.activation, ffn));
  ATTUNE_RETURN_IF_ERROR(layer.ffn_output->RunAdd(seat.context, ffn, hidden));
  LayerNorm(NormParams(config_, layer.ffn_norm), hidden);
  return absl::OkStatus();
}

absl::Status Encoder::CheckBatch(const Batch& batch) const {
  ATTUNE_CHECK(static_cast<int64_t>(batch.token_ids.size()) == batch.tokens());
  ATTUNE_CHECK(batch.type_ids.size() == batch.token_ids.size());
  ATTUNE_RETURN_IF_ERROR(CheckIds("token", batch.token_ids, config_.vocab));
  ATTUNE_RETURN_IF_ERROR(CheckIds("type", batch.type_ids, config_.type_vocab));
  for (int64_t text = 0; text < batch.texts(); ++text) {
    if (batch.seq(text) < 1 || batch.seq(text) > config_.max_positions) {
      return absl::InvalidArgumentError(absl::StrCat("text ", text, " has ", batch.seq(text),
                                                     " tokens; the model takes 1 to ",
                                                     config_.max_positions));
    }
    const ConstMatrixView vectors = batch.VectorsOf(text);
    if (vectors.rows > 0 && vectors.cols != config_.hidden) {
      return absl::InvalidArgumentError(absl::StrCat("text ", text, " has vectors of ",
                                                     vectors.cols, " values; the model takes ",
                                                     config_.hidden));
    }
  }
  return absl::OkStatus();
}

}  // namespace attune
