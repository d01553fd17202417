#include "server/request_pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/attend_job.h"
#include "server/attention_job.h"
#include "server/encode_job.h"
#include "server/error_details.h"
#include "server/given_input.h"
#include "server/out_of_memory.h"
#include "server/reply_size.h"
#include "server/similarity_job.h"
#include "server/text_intake.h"

namespace attune {
namespace {

// Requests of up to this much text are tokenised on the thread they arrive on: well under a
// millisecond, which costs less than handing them over.
constexpr int64_t kTokenizeInlineBytes = 8 << 10;

constexpr TextFields kEncodeFields{"texts.values", true, "options.max_tokens"};
constexpr TextFields kEncodePairFields{"text_pairs.values", true, "options.max_tokens"};
constexpr TextFields kStreamFields{"text", false, "options.max_tokens"};
constexpr TextFields kAttentionFields{"query.text", false, "query.max_tokens"};
constexpr TextFields kAttentionPairFields{"query.text_pair", false, "query.max_tokens"};
constexpr TextFields kFirstTextFields{"first", false, "max_tokens"};
constexpr TextFields kSecondTextFields{"second", false, "max_tokens"};
constexpr TextFields kTokenizeFields{"texts.values", true, "max_tokens"};

ModelInfo DescribeModel(const ServerOptions& options, const LoadedModel& model) {
  const ModelFolder& folder = model.engine->folder();
  ModelInfo info;
  info.name = folder.name;
  info.revision = folder.revision;
  info.config = folder.config;
  info.max_tokens = options.max_input_tokens;
  info.trained_max_tokens = folder.max_tokens;
  info.dimension = folder.dimension();
  info.pooling = folder.pooling;
  info.normalize = folder.normalize;
  info.precision = model.precision;
  info.kernels = model.engine->kernel_name();
  info.isa = EffectiveIsa();
  info.onednn_version = OneDnnVersion();
  info.server_version = ATTUNE_VERSION;
  info.max_message_bytes = options.max_message_bytes;
  info.max_texts = options.max_texts;
  info.max_text_bytes = options.max_text_bytes;
  info.max_attention_reply_bytes = options.max_attention_reply_bytes;
  return info;
}

VectorPlan MakePlan(const EncodeInput& input, const Engine& engine) {
  VectorPlan plan;
  if (input.pooling == EncodeInput::PoolingChoice::kNone) {
    plan.normalize_tokens = input.normalize.value_or(false);
    return plan;
  }
  plan.pooling = engine.default_pooling();
  if (input.pooling == EncodeInput::PoolingChoice::kMode) plan.pooling->modes = {input.mode};
  if (input.normalize.has_value()) plan.pooling->normalize = *input.normalize;
  return plan;
}

// For what another model could answer.
absl::Status ModelUnfit(absl::string_view message) {
  return WithReason(absl::FailedPreconditionError(message), ErrorReason::kModelUnfit);
}

absl::Status CheckDimension(const EncodeInput& input, int64_t dimension, const ModelInfo& model) {
  if (!input.expected_dimension.has_value() || *input.expected_dimension == dimension) {
    return absl::OkStatus();
  }
  return ModelUnfit(absl::StrCat("options.expected_dimension is ", *input.expected_dimension,
                                 ", but model ", model.name, " gives ", dimension));
}

// Whether the input is within the limits that a glance at its sizes can tell.
absl::Status CheckEncodeSizes(const TextFields& fields, const EncodeInput& input,
                              const ServerOptions& options) {
  switch (input.kind) {
    case EncodeInput::Kind::kTexts:
      return CheckTexts(fields, input.texts, options);
    case EncodeInput::Kind::kTextPairs:
      return CheckTextPairs(fields, input.text_pairs, options);
    case EncodeInput::Kind::kTokenIds:
      return CheckItemCount("token_ids.values", input.token_ids.size(), options);
    case EncodeInput::Kind::kVectors:
      return CheckItemCount("vectors.values", input.vectors.size(), options);
  }
  return absl::InternalError("no kind of input");
}

// A pair's tokens have types, which a model with one type cannot take.
absl::Status CheckTypes(absl::string_view field, const std::vector<Encoding>& encodings,
                        const ModelConfig& config) {
  for (const Encoding& encoding : encodings) {
    const auto largest = std::max_element(encoding.type_ids.begin(), encoding.type_ids.end());
    if (largest == encoding.type_ids.end() || *largest < config.type_vocab) continue;
    return ModelUnfit(absl::StrCat(field, " needs token type ", *largest,
                                   "; this model has types up to ", config.type_vocab - 1));
  }
  return absl::OkStatus();
}

// Ids and vectors that the caller made itself, in the form the tokenizer would have given.
absl::StatusOr<std::vector<Encoding>> TakeGiven(const EncodeInput& input, const ModelInfo& model) {
  std::vector<Encoding> encodings;
  for (size_t i = 0; i < input.token_ids.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        Encoding encoding,
        TakeTokenIds(absl::StrCat("token_ids.values[", i, "]"), input.token_ids[i], model));
    encodings.push_back(std::move(encoding));
  }
  for (size_t i = 0; i < input.vectors.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Encoding encoding, TakeVectors(absl::StrCat("vectors.values[", i, "]"),
                                                           input.vectors[i], model));
    encodings.push_back(std::move(encoding));
  }
  return encodings;
}

void RecordGiven(absl::Span<const Encoding> encodings, const Call& call) {
  if (call.record() == nullptr) return;
  for (const Encoding& encoding : encodings) call.record()->AddInputs(1, encoding.size());
}

// The pooling by which a cosine is a sum over pairs of tokens.
absl::StatusOr<PoolingMode> ResolveTokenMean(const ModelInfo& model) {
  if (model.pooling.size() == 1 && IsTokenMean(model.pooling.front())) return model.pooling.front();
  std::string names;
  for (const PoolingMode mode : model.pooling) {
    absl::StrAppend(&names, names.empty() ? "" : " and ", PoolingModeName(mode));
  }
  return ModelUnfit(
      absl::StrCat("model ", model.name, " pools by ", names,
                   "; only the cosine of means over tokens is a sum over pairs of tokens"));
}

}  // namespace

RequestPipeline::RequestPipeline(const ServerOptions& options, const LoadedModel& model,
                                 Batcher& batcher, MemoryBudgets& budgets)
    : options_(options),
      engine_(model.engine),
      model_info_(DescribeModel(options_, model)),
      batcher_(batcher),
      attention_intake_(options_, *engine_, model_info_),
      budgets_(budgets),
      tokenizer_threads_(options.max_pending_bytes) {}

absl::Status RequestPipeline::Start() {
  return tokenizer_threads_.Start(options_.tokenizer_threads);
}

absl::Status RequestPipeline::Hold(int64_t bytes, Call& call) {
  ATTUNE_ASSIGN_OR_RETURN(ByteBudget::Reservation held,
                          budgets_.calls.Reserve(std::min(bytes, budgets_.calls.limit_bytes())));
  call.Hold(std::move(held));
  return absl::OkStatus();
}

absl::Status RequestPipeline::AdmitReply(int64_t bytes, Call& call) {
  ATTUNE_RETURN_IF_ERROR(CheckReplyBytes(bytes, options_.max_message_bytes));
  return Hold(kReplyForms * bytes, call);
}

void RequestPipeline::RunByTextSize(int64_t text_bytes, std::function<absl::Status()> begin,
                                    std::function<void(absl::Status)> fail) {
  auto run = [begin = std::move(begin), fail] {
    absl::Status begun = OrOutOfMemory(begin);
    if (!begun.ok()) fail(std::move(begun));
  };
  if (text_bytes <= kTokenizeInlineBytes) return run();
  absl::Status queued = tokenizer_threads_.Add(text_bytes, std::move(run));
  if (!queued.ok()) fail(std::move(queued));
}

absl::StatusOr<std::vector<Encoding>> RequestPipeline::ReadInput(const TextFields& fields,
                                                                 const EncodeInput& input,
                                                                 const Call& call) const {
  const TokenizeSettings settings{input.policy, options_.max_input_tokens};
  switch (input.kind) {
    case EncodeInput::Kind::kTexts:
      return TokenizeTexts(fields, input.texts, settings, engine_->tokenizer(), call);
    case EncodeInput::Kind::kTextPairs: {
      ATTUNE_ASSIGN_OR_RETURN(
          std::vector<Encoding> encodings,
          TokenizeTextPairs(fields, input.text_pairs, settings, engine_->tokenizer(), call));
      ATTUNE_RETURN_IF_ERROR(CheckTypes("text_pairs", encodings, model_info_.config));
      return encodings;
    }
    case EncodeInput::Kind::kTokenIds:
    case EncodeInput::Kind::kVectors: {
      ATTUNE_ASSIGN_OR_RETURN(std::vector<Encoding> encodings, TakeGiven(input, model_info_));
      RecordGiven(encodings, call);
      return encodings;
    }
  }
  return absl::InternalError("no kind of input");
}

absl::Status RequestPipeline::CheckAttentionText(const AttentionInput& input) const {
  if (!input.has_text()) return absl::OkStatus();
  if (!input.second_text.has_value()) {
    return CheckTexts(kAttentionFields, {input.text}, options_);
  }
  const TextPair pair{input.text, *input.second_text};
  return CheckTextPairs(kAttentionPairFields, absl::MakeConstSpan(&pair, 1), options_);
}

absl::StatusOr<Encoding> RequestPipeline::ReadAttentionInput(const AttentionInput& input,
                                                             const Call& call) const {
  if (input.has_text()) return ReadAttentionText(input, call);
  ATTUNE_ASSIGN_OR_RETURN(Encoding encoding,
                          input.vectors.has_value()
                              ? TakeVectors("query.vectors", *input.vectors, model_info_)
                              : TakeTokenIds("query.token_ids", *input.token_ids, model_info_));
  FillInOffsets(encoding);
  RecordGiven(absl::MakeConstSpan(&encoding, 1), call);
  return encoding;
}

absl::StatusOr<Encoding> RequestPipeline::ReadAttentionText(const AttentionInput& input,
                                                            const Call& call) const {
  TokenizeSettings settings{input.policy, options_.max_input_tokens};
  settings.offsets = true;
  const Tokenizer& tokenizer = engine_->tokenizer();
  std::vector<Encoding> encodings;
  if (input.second_text.has_value()) {
    const TextPair pair{input.text, *input.second_text};
    ATTUNE_ASSIGN_OR_RETURN(
        encodings, TokenizeTextPairs(kAttentionPairFields, absl::MakeConstSpan(&pair, 1), settings,
                                     tokenizer, call));
    ATTUNE_RETURN_IF_ERROR(CheckTypes("query.text_pair", encodings, model_info_.config));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(
        encodings, TokenizeTexts(kAttentionFields, {input.text}, settings, tokenizer, call));
  }
  return std::move(encodings.front());
}

void RequestPipeline::Encode(EncodeInput input, std::shared_ptr<Call> call,
                             Done<EncodeReply> done) {
  const bool pairs = input.kind == EncodeInput::Kind::kTextPairs;
  EncodeAs(pairs ? kEncodePairFields : kEncodeFields, std::move(input), std::move(call),
           std::move(done));
}

void RequestPipeline::EncodeStreamItem(EncodeInput input, std::shared_ptr<Call> call,
                                       Done<EncodeReply> done) {
  absl::Status held = Hold(TotalBytes(input.texts), *call);
  if (!held.ok()) return done(std::move(held));
  EncodeAs(kStreamFields, std::move(input), std::move(call), std::move(done));
}

absl::Status RequestPipeline::CheckStreamOptions(const EncodeInput& options) const {
  const int64_t dimension = MakePlan(options, *engine_).dimension(model_info_.config.hidden);
  ATTUNE_RETURN_IF_ERROR(CheckDimension(options, dimension, model_info_));
  return CheckTokenLimit(kStreamFields, {options.policy, options_.max_input_tokens},
                         engine_->tokenizer());
}

int64_t RequestPipeline::MostReplyBytes(const EncodeInput& options, int64_t text_bytes) const {
  const VectorPlan plan = MakePlan(options, *engine_);
  // A token stands for a byte of text or more, apart from the special ones.
  const int64_t most_tokens = std::min(options_.max_input_tokens,
                                       text_bytes + engine_->tokenizer().special_tokens_per_text());
  const int64_t vectors = plan.pooling.has_value() ? 1 : most_tokens;
  return vectors * plan.dimension(model_info_.config.hidden) * int64_t{sizeof(float)};
}

void RequestPipeline::EncodeAs(const TextFields& fields, EncodeInput input,
                               std::shared_ptr<Call> call, Done<EncodeReply> done) {
  const VectorPlan plan = MakePlan(input, *engine_);
  const int64_t hidden = model_info_.config.hidden;
  absl::Status valid = CheckEncodeSizes(fields, input, options_);
  if (valid.ok()) valid = CheckDimension(input, plan.dimension(hidden), model_info_);
  if (!valid.ok()) return done(std::move(valid));

  const int64_t text_bytes = TotalBytes(input.texts) + TotalBytes(input.text_pairs);
  auto queue = [this, fields, input = std::move(input), call, plan, hidden,
                done]() -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(std::vector<Encoding> encodings, ReadInput(fields, input, *call));
    ATTUNE_RETURN_IF_ERROR(AdmitReply(EncodeReplyBytes(encodings, plan, hidden), *call));
    EncodeTexts texts{std::move(encodings), input.vectors, input.window};
    const auto job = std::make_shared<EncodeJob>(call, std::move(texts), plan, hidden, done);
    return batcher_.Add(EncodeJob::Items(job));
  };
  RunByTextSize(text_bytes, std::move(queue), done);
}

void RequestPipeline::PlanAttention(AttentionInput input, std::shared_ptr<Call> call,
                                    StartAttention start, std::function<void(absl::Status)> fail) {
  absl::Status valid = CheckAttentionText(input);
  if (valid.ok()) valid = attention_intake_.Resolve(input);
  if (!valid.ok()) return fail(std::move(valid));

  const auto text_bytes =
      static_cast<int64_t>(input.text.size() + input.second_text.value_or("").size());
  auto plan = [this, input = std::move(input), call = std::move(call),
               start = std::move(start)]() -> absl::Status {
    AttentionReply reply;
    reply.text = input.text;
    reply.second_text = input.second_text.value_or("");
    reply.has_tokens = !input.vectors.has_value();
    ATTUNE_ASSIGN_OR_RETURN(reply.encoding, ReadAttentionInput(input, *call));
    ATTUNE_ASSIGN_OR_RETURN(AttentionWork work, attention_intake_.Plan(input, reply));
    return start(input, std::move(reply), std::move(work));
  };
  RunByTextSize(text_bytes, std::move(plan), std::move(fail));
}

void RequestPipeline::MapAttention(AttentionInput input, std::shared_ptr<Call> call,
                                   Done<AttentionReply> done) {
  auto start = [this, call, done](const AttentionInput& planned, AttentionReply reply,
                                  AttentionWork work) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(const MapMemory memory, attention_intake_.ReplyFits(planned, reply));
    ATTUNE_ASSIGN_OR_RETURN(ByteBudget::Reservation held,
                            budgets_.attention_maps.Reserve(memory.held_bytes));
    ATTUNE_RETURN_IF_ERROR(Hold(kReplyForms * memory.reply_bytes, *call));
    const auto job = std::make_shared<AttentionJob>(call, std::move(reply), std::move(work),
                                                    std::move(held), done);
    return batcher_.Add({{job, 0, job->tokens()}});
  };
  PlanAttention(std::move(input), call, std::move(start), done);
}

void RequestPipeline::OpenAttentionStream(AttentionInput input, std::shared_ptr<Call> call,
                                          Done<std::shared_ptr<AttentionStream>> done) {
  auto start = [this, call, done](const AttentionInput& planned, AttentionReply reply,
                                  AttentionWork work) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t bytes, attention_intake_.StreamFits(planned, reply));
    ATTUNE_ASSIGN_OR_RETURN(ByteBudget::Reservation held, budgets_.attention_maps.Reserve(bytes));
    done(std::make_shared<AttentionStream>(call, std::move(reply), std::move(work),
                                           model_info_.config, std::move(held), batcher_));
    return absl::OkStatus();
  };
  PlanAttention(std::move(input), call, std::move(start), done);
}

absl::StatusOr<Encoding> RequestPipeline::ReadSimilarityText(const TextFields& fields,
                                                             absl::string_view text,
                                                             const TokenizePolicy& policy,
                                                             const Call& call) const {
  TokenizeSettings settings{policy, options_.max_input_tokens};
  settings.offsets = true;
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Encoding> encodings,
                          TokenizeTexts(fields, {text}, settings, engine_->tokenizer(), call));
  return std::move(encodings.front());
}

void RequestPipeline::ExplainSimilarity(SimilarityInput input, std::shared_ptr<Call> call,
                                        Done<SimilarityReply> done) {
  const absl::StatusOr<PoolingMode> mode = ResolveTokenMean(model_info_);
  absl::Status valid = mode.status();
  if (valid.ok()) valid = CheckTexts(kFirstTextFields, {input.first}, options_);
  if (valid.ok()) valid = CheckTexts(kSecondTextFields, {input.second}, options_);
  if (!valid.ok()) return done(std::move(valid));

  const auto text_bytes = static_cast<int64_t>(input.first.size() + input.second.size());
  auto queue = [this, input, mode = *mode, call, done]() -> absl::Status {
    SimilarityReply reply;
    ATTUNE_ASSIGN_OR_RETURN(reply.first,
                            ReadSimilarityText(kFirstTextFields, input.first, input.policy, *call));
    ATTUNE_ASSIGN_OR_RETURN(
        reply.second, ReadSimilarityText(kSecondTextFields, input.second, input.policy, *call));
    ATTUNE_RETURN_IF_ERROR(AdmitReply(SimilarityReplyBytes(reply, engine_->tokenizer()), *call));
    const auto job = std::make_shared<SimilarityJob>(call, std::move(reply), mode, done);
    return batcher_.Add({{job, 0, job->tokens()}});
  };
  RunByTextSize(text_bytes, std::move(queue), std::move(done));
}

void RequestPipeline::Tokenize(TokenizeInput input, std::shared_ptr<Call> call,
                               Done<TokenizeReply> done) {
  absl::Status valid = CheckTexts(kTokenizeFields, input.texts, options_);
  if (!valid.ok()) return done(std::move(valid));

  const int64_t text_bytes = TotalBytes(input.texts);
  auto answer = [this, input = std::move(input), call = std::move(call), done]() -> absl::Status {
    // Counting the tokens of a long text is what Tokenize is for, so the model's limit does not
    // apply; what can be answered does.
    TokenizeSettings settings{input.policy, MostTokensOfAReply(options_.max_message_bytes)};
    settings.add_special_tokens = input.add_special_tokens;
    settings.offsets = true;
    ATTUNE_ASSIGN_OR_RETURN(
        std::vector<Encoding> encodings,
        TokenizeTexts(kTokenizeFields, input.texts, settings, engine_->tokenizer(), *call));
    ATTUNE_RETURN_IF_ERROR(AdmitReply(TokenizeReplyBytes(encodings, engine_->tokenizer()), *call));
    done(TokenizeReply{std::move(encodings)});
    return absl::OkStatus();
  };
  RunByTextSize(text_bytes, std::move(answer), done);
}

void RequestPipeline::Attend(std::shared_ptr<const AttendInput> input, std::shared_ptr<Call> call,
                             Done<AttendResult> done) {
  const auto queue = [&]() -> absl::Status {
    ATTUNE_RETURN_IF_ERROR(ValidateAttend(*input));
    ATTUNE_RETURN_IF_ERROR(AdmitReply(AttendReplyBytes(*input), *call));
    const int64_t tokens = input->vectors.rows();
    return batcher_.Add(
        {{std::make_shared<AttendJob>(std::move(call), std::move(input), done), 0, tokens}});
  };
  absl::Status queued = OrOutOfMemory(queue);
  if (!queued.ok()) done(std::move(queued));
}

}  // namespace attune
