#include "server/attention_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/dot.h"

namespace attune {
namespace {

// Erased texts of together this many tokens share a pass.
constexpr int64_t kErasureBatchTokens = 1024;

// 1 - cosine; 1 where a vector is zero.
double CosineDistance(const std::vector<float>& a, const std::vector<float>& b) {
  const double lengths = std::sqrt(Dot(a, a)) * std::sqrt(Dot(b, b));
  if (lengths == 0) return 1;
  // Rounding must not make equal vectors less than 0 apart.
  return std::max(0.0, 1 - Dot(a, b) / lengths);
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

absl::StatusOr<std::vector<float>> PoolRows(const Engine& engine, ConstMatrixView hidden) {
  const Engine::PoolingPlan plan = engine.default_pooling();
  std::vector<float> vector(static_cast<size_t>(plan.dimension(hidden.cols)));
  ATTUNE_RETURN_IF_ERROR(PoolText(plan, hidden, absl::MakeSpan(vector)));
  return vector;
}

// The text alone: its vectors, or else `ids`.
Batch BatchOf(const AttentionReply& reply, const AttentionWork& work,
              const std::vector<int32_t>& ids) {
  Batch batch;
  if (work.vectors.rows > 0) {
    batch.AppendVectors(work.vectors);
  } else {
    batch.Append(ids, reply.encoding.type_ids);
  }
  return batch;
}

// `vectors` without one row.
Matrix WithoutRow(ConstMatrixView vectors, int64_t row) {
  Matrix rest(vectors.rows - 1, vectors.cols);
  for (int64_t i = 0; i < rest.rows(); ++i) {
    const absl::Span<const float> kept = vectors.row(i < row ? i : i + 1);
    std::copy(kept.begin(), kept.end(), rest.row(i).begin());
  }
  return rest;
}

}  // namespace

Batch ChangedText(const AttentionReply& reply, const AttentionWork& work) {
  Batch batch = BatchOf(reply, work, work.ids);
  batch.LimitAttention(work.window);
  return batch;
}

AttentionJob::AttentionJob(std::shared_ptr<Call> call, AttentionReply reply, AttentionWork work,
                           ByteBudget::Reservation bytes, Done done)
    : Job(std::move(call)),
      reply_(std::move(reply)),
      work_(std::move(work)),
      bytes_(std::move(bytes)),
      done_(std::move(done)) {}

void AttentionJob::RunAlone(Session& session) {
  absl::Status status = Run(session);
  RecordFault(status);
  bytes_ = ByteBudget::Reservation();
  if (status.ok()) {
    done_(std::move(reply_));
  } else {
    Fail(0, std::move(status));
  }
}

absl::Status AttentionJob::Run(Session& session) {
  const HeadAblation* ablation = work_.ablation.has_value() ? &*work_.ablation : nullptr;
  AttentionMapper mapper(session.engine().config(), reply_.plan, ablation, ShouldStop());
  ATTUNE_ASSIGN_OR_RETURN(std::vector<float> embedding,
                          Embed(session, ChangedText(reply_, work_), ablation, &mapper));
  ATTUNE_ASSIGN_OR_RETURN(reply_.result, mapper.Finish());
  if (work_.changed) ATTUNE_RETURN_IF_ERROR(MeasureMovement(session, embedding));
  if (work_.erasure != TokenErasure::kNone) {
    ATTUNE_RETURN_IF_ERROR(EraseTokens(session, embedding));
  }
  if (work_.want_embedding) reply_.embedding = std::move(embedding);
  return absl::OkStatus();
}

Encoder::ForwardOptions AttentionJob::PassOptions(const HeadAblation* ablation,
                                                  LayerTap* tap) const {
  Encoder::ForwardOptions options;
  options.tap = tap;
  options.ablation = ablation;
  options.should_stop = ShouldStop();
  return options;
}

std::function<bool()> AttentionJob::ShouldStop() const {
  return [this] { return !call().CheckWanted(SteadyNow()).ok(); };
}

absl::StatusOr<std::vector<float>> AttentionJob::Embed(Session& session, const Batch& batch,
                                                       const HeadAblation* ablation,
                                                       LayerTap* tap) {
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden,
                          session.Forward(batch, PassOptions(ablation, tap)));
  return PoolRows(session.engine(), hidden);
}

absl::Status AttentionJob::MeasureMovement(Session& session, const std::vector<float>& changed) {
  ATTUNE_ASSIGN_OR_RETURN(
      std::vector<float> baseline,
      Embed(session, BatchOf(reply_, work_, reply_.encoding.ids), nullptr, nullptr));
  EmbeddingMovement& movement = reply_.movement.emplace();
  movement.cosine_distance = CosineDistance(baseline, changed);
  movement.l2_distance = Distance(baseline, changed);
  if (work_.want_embedding) movement.baseline = std::move(baseline);
  return absl::OkStatus();
}

absl::Status AttentionJob::EraseTokens(Session& session, const std::vector<float>& whole) {
  const int64_t seq = reply_.encoding.size();
  reply_.erasure.assign(static_cast<size_t>(seq), 0.0f);
  if (work_.erasure == TokenErasure::kRemove && seq < 2) return absl::OkStatus();  // none is left
  std::vector<int64_t> tokens;
  for (int64_t token = 0; token < seq; ++token) {
    if (!reply_.encoding.special[static_cast<size_t>(token)]) tokens.push_back(token);
  }
  const size_t per_pass = static_cast<size_t>(std::max<int64_t>(1, kErasureBatchTokens / seq));
  for (size_t begin = 0; begin < tokens.size(); begin += per_pass) {
    ATTUNE_RETURN_IF_ERROR(
        EraseSome(session, whole, absl::MakeConstSpan(tokens).subspan(begin, per_pass)));
  }
  return absl::OkStatus();
}

absl::Status AttentionJob::EraseSome(Session& session, const std::vector<float>& whole,
                                     absl::Span<const int64_t> tokens) {
  Batch batch;
  std::vector<Matrix> rests;  // what the batch borrows
  rests.reserve(tokens.size());
  for (const int64_t token : tokens) {
    if (work_.vectors.rows > 0) {
      batch.AppendVectors(rests.emplace_back(WithoutRow(work_.vectors, token)).view());
    } else {
      AppendErased(token, batch);
    }
    batch.LimitAttention(work_.window);
  }
  const HeadAblation* ablation = work_.ablation.has_value() ? &*work_.ablation : nullptr;
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden,
                          session.Forward(batch, PassOptions(ablation, nullptr)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        const std::vector<float> vector,
        PoolRows(session.engine(), hidden.Rows(batch.row_begin[i], batch.row_begin[i + 1])));
    reply_.erasure[static_cast<size_t>(tokens[i])] =
        static_cast<float>(CosineDistance(whole, vector));
  }
  return absl::OkStatus();
}

void AttentionJob::AppendErased(int64_t token, Batch& batch) const {
  std::vector<int32_t> ids = work_.ids;
  std::vector<int32_t> types = reply_.encoding.type_ids;
  if (work_.erasure == TokenErasure::kMask) {
    ids[static_cast<size_t>(token)] = work_.mask_id;
  } else {
    ids.erase(ids.begin() + token);
    types.erase(types.begin() + token);
  }
  batch.Append(ids, types);
}

void AttentionJob::Fail(int64_t /*index*/, absl::Status status) {
  const absl::Status wanted = call().CheckWanted(SteadyNow());
  done_(wanted.ok() ? status : wanted);
}

}  // namespace attune
