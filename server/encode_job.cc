#include "server/encode_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/not_finite_error.h"
#include "engine/tensor/finite.h"
#include "server/error_details.h"
#include "server/out_of_memory.h"

namespace attune {

EncodeJob::EncodeJob(std::shared_ptr<Call> call, EncodeTexts texts, VectorPlan plan, int64_t hidden,
                     Done done)
    : Job(std::move(call)),
      texts_(std::move(texts)),
      plan_(std::move(plan)),
      done_(std::move(done)),
      remaining_(texts_.encodings.size()) {
  reply_.dimension = plan_.dimension(hidden);
  reply_.vectors.resize(texts_.encodings.size());
}

std::vector<WorkItem> EncodeJob::Items(const std::shared_ptr<EncodeJob>& job) {
  std::vector<WorkItem> items;
  items.reserve(job->texts_.encodings.size());
  for (const Encoding& encoding : job->texts_.encodings) {
    items.push_back({job, static_cast<int64_t>(items.size()), encoding.size()});
  }
  return items;
}

TextRows EncodeJob::rows_wanted() const {
  return plan_.pooling.has_value() ? plan_.pooling->rows_wanted() : TextRows::kAll;
}

void EncodeJob::AppendTo(int64_t index, Batch& batch) const {
  const auto text = static_cast<size_t>(index);
  if (texts_.vectors.empty()) {
    batch.Append(texts_.encodings[text].ids, texts_.encodings[text].type_ids);
  } else {
    batch.AppendVectors(texts_.vectors[text]);
  }
  batch.LimitAttention(texts_.window);
}

void EncodeJob::Finish(int64_t index, ConstMatrixView hidden) {
  const Encoding& encoding = texts_.encodings[static_cast<size_t>(index)];
  TextVector& vector = reply_.vectors[static_cast<size_t>(index)];
  vector.tokens = encoding.size();
  vector.truncated = encoding.truncated;
  // Of this text alone: the others of its batch have theirs.
  absl::Status status = OrOutOfMemory([&] { return MakeVector(hidden, vector.values); });
  RecordFault(status);
  if (!status.ok() && texts_.encodings.size() > 1) {
    status = WithMessage(status, absl::StrCat("item ", index, ": ", status.message()));
  }
  ItemDone(std::move(status));
}

absl::Status EncodeJob::MakeVector(ConstMatrixView hidden, std::vector<float>& values) const {
  if (plan_.pooling.has_value()) {
    values.resize(static_cast<size_t>(reply_.dimension));
    return PoolText(*plan_.pooling, hidden, absl::MakeSpan(values));
  }
  values.resize(static_cast<size_t>(hidden.rows * hidden.cols));
  const MatrixView tokens(values.data(), hidden.rows, hidden.cols);
  for (int64_t i = 0; i < hidden.rows; ++i) {
    std::copy_n(hidden.row(i).data(), hidden.cols, tokens.row(i).data());
    if (plan_.normalize_tokens) NormalizeL2(tokens.row(i));
  }
  return AllFinite(values) ? absl::OkStatus() : NotFiniteError("a token vector is not finite");
}

void EncodeJob::Fail(int64_t /*index*/, absl::Status status) { ItemDone(std::move(status)); }

void EncodeJob::ItemDone(absl::Status status) {
  absl::Status answer;
  {
    MutexLock lock(mu_);
    if (!status.ok() && first_error_.ok()) {
      first_error_ = std::move(status);
      call().Abandon();
    }
    ATTUNE_CHECK(remaining_ > 0);
    if (--remaining_ > 0) return;
    answer = first_error_;
  }
  if (answer.ok()) {
    done_(std::move(reply_));
  } else {
    done_(std::move(answer));
  }
}

}  // namespace attune
