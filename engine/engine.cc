#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/file_reader.h"
#include "engine/base/not_finite_error.h"
#include "engine/base/status_macros.h"
#include "engine/model/weights.h"
#include "engine/tensor/finite.h"

namespace attune {
namespace {

constexpr int64_t kMaxTokenizerFileBytes = int64_t{256} << 20;

// The content of an optional file: "" where it is absent. One that is there and empty is what a
// copy that failed leaves behind.
absl::StatusOr<std::string> ReadIfPresent(const std::string& path) {
  if (!PathExists(path)) return std::string();
  ATTUNE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMaxTokenizerFileBytes));
  if (content.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  return content;
}

void CopyRows(ConstMatrixView src, MatrixView dst) {
  for (int64_t i = 0; i < src.rows; ++i) {
    std::copy(src.row(i).begin(), src.row(i).end(), dst.row(i).begin());
  }
}

absl::StatusOr<std::unique_ptr<const Tokenizer>> LoadTokenizer(const ModelFolder& folder) {
  const std::string& path = folder.transformer_path;
  TokenizerFiles files;
  ATTUNE_ASSIGN_OR_RETURN(files.tokenizer_json, ReadIfPresent(path + "/tokenizer.json"));
  if (files.tokenizer_json.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(files.vocab_txt, ReadIfPresent(path + "/vocab.txt"));
    ATTUNE_ASSIGN_OR_RETURN(files.tokenizer_config_json,
                            ReadIfPresent(path + "/tokenizer_config.json"));
  }
  files.lower_case_first = folder.lower_case_first;
  if (files.tokenizer_json.empty() && files.vocab_txt.empty()) {
    return absl::NotFoundError(absl::StrCat(path, " has neither tokenizer.json nor vocab.txt"));
  }
  absl::StatusOr<std::unique_ptr<const Tokenizer>> tokenizer = Tokenizer::Create(files);
  // Errors of the older files name them already.
  if (tokenizer.ok() || files.tokenizer_json.empty()) return tokenizer;
  return absl::Status(tokenizer.status().code(),
                      absl::StrCat(path, "/tokenizer.json: ", tokenizer.status().message()));
}

}  // namespace

Engine::Engine(ModelFolder folder, std::unique_ptr<const Tokenizer> tokenizer,
               std::unique_ptr<const Encoder> encoder)
    : folder_(std::move(folder)), tokenizer_(std::move(tokenizer)), encoder_(std::move(encoder)) {}

absl::StatusOr<std::shared_ptr<const Engine>> Engine::Load(const std::string& model_path,
                                                           const EngineOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(ModelFolder folder, OpenModelFolder(model_path));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<const Tokenizer> tokenizer, LoadTokenizer(folder));
  if (tokenizer->id_limit() > folder.config.vocab) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tokenizer can emit ids up to ", tokenizer->id_limit() - 1,
                     ", but the word embedding table has ", folder.config.vocab, " rows"));
  }
  ATTUNE_ASSIGN_OR_RETURN(const WeightReader reader,
                          WeightReader::Open(folder.transformer_path, folder.config));
  ATTUNE_ASSIGN_OR_RETURN(ModelWeights embeddings, reader.ReadEmbeddings());
  ATTUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<const Encoder> encoder,
      Encoder::Create(folder.config, std::move(embeddings),
                      [&reader](int64_t layer) { return reader.ReadLayer(layer); },
                      {options.precision, options.kernels}));
  ATTUNE_RETURN_IF_ERROR(folder.CheckUnchanged());
  return std::shared_ptr<const Engine>(
      new Engine(std::move(folder), std::move(tokenizer), std::move(encoder)));
}

absl::Status PoolText(const Engine::PoolingPlan& plan, ConstMatrixView tokens,
                      absl::Span<float> dst) {
  const auto hidden = static_cast<size_t>(tokens.cols);
  for (size_t i = 0; i < plan.modes.size(); ++i) {
    Pool(plan.modes[i], tokens, dst.subspan(i * hidden, hidden));
  }
  if (plan.normalize) NormalizeL2(dst);
  if (!AllFinite(dst)) return NotFiniteError("the text vector is not finite");
  return absl::OkStatus();
}

TextRows Engine::PoolingPlan::rows_wanted() const {
  const auto every_mode_is = [this](PoolingMode wanted) {
    return std::all_of(modes.begin(), modes.end(),
                       [wanted](PoolingMode mode) { return mode == wanted; });
  };
  if (every_mode_is(PoolingMode::kCls)) return TextRows::kFirst;
  if (every_mode_is(PoolingMode::kLastToken)) return TextRows::kLast;
  return TextRows::kAll;
}

Session::Session(std::shared_ptr<const Engine> engine, int64_t reserve_tokens,
                 HelperSource* helpers)
    : engine_(std::move(engine)),
      helpers_(helpers),
      workspace_(engine_->config(), engine_->precision()) {
  workspace_.Reserve(reserve_tokens);
}

absl::StatusOr<ConstMatrixView> Session::Forward(const Batch& batch,
                                                 const Encoder::ForwardOptions& options) {
  Encoder::ForwardOptions shared = options;
  const int most = Encoder::MostHelpers(batch.tokens());
  if (helpers_ != nullptr && most > 0) shared.team = helpers_->Invite(most);
  return engine_->encoder_->Forward(context_, batch, workspace_, shared);
}

absl::StatusOr<Matrix> Session::Embed(const Batch& batch) {
  ATTUNE_RETURN_IF_ERROR(engine_->encoder_->Embed(batch, workspace_));
  Matrix hidden(batch.tokens(), engine_->config().hidden);
  CopyRows(workspace_.hidden(), hidden.view());
  return hidden;
}

absl::Status Session::RunLayer(const Batch& batch, int64_t layer, LayerTap* tap,
                               const HeadAblation* ablation, Matrix& hidden) {
  workspace_.Reserve(hidden.rows());
  CopyRows(hidden.view(), workspace_.hidden());
  ATTUNE_RETURN_IF_ERROR(
      engine_->encoder_->RunLayer(context_, batch, layer, workspace_, tap, ablation));
  CopyRows(workspace_.hidden(), hidden.view());
  return absl::OkStatus();
}

void Session::Help(EncoderTeam& team, absl::FunctionRef<bool()> should_leave) {
  Encoder::Help(context_, workspace_, team, should_leave);
}

}  // namespace attune
