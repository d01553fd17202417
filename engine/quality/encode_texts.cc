#include "engine/quality/encode_texts.h"

#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "engine/base/mutex.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

// Tokens per forward pass: enough rows for the matrix kernels, few enough for the cache.
constexpr int64_t kBatchTokens = 256;

// Consecutive texts, computed in one forward pass.
struct TextGroup {
  int64_t first = 0;
  Batch batch;
};

absl::StatusOr<std::vector<TextGroup>> GroupTexts(const Engine& engine,
                                                  absl::Span<const std::string> texts) {
  TokenizeOptions options;
  options.max_tokens = engine.folder().max_tokens;
  std::vector<TextGroup> groups;
  for (size_t i = 0; i < texts.size(); ++i) {
    const absl::StatusOr<Encoding> encoding = engine.tokenizer().Encode(texts[i], options);
    if (!encoding.ok()) {
      return absl::Status(encoding.status().code(),
                          absl::StrCat("text ", i + 1, ": ", encoding.status().message()));
    }
    if (groups.empty() || groups.back().batch.tokens() + encoding->size() > kBatchTokens) {
      groups.push_back({static_cast<int64_t>(i), {}});
    }
    groups.back().batch.Append(encoding->ids, encoding->type_ids);
  }
  return groups;
}

// What the threads share: which group is next, and what went wrong first.
class GroupQueue {
 public:
  GroupQueue(std::vector<TextGroup> groups, std::function<void(int64_t)> on_progress)
      : groups_(std::move(groups)), on_progress_(std::move(on_progress)) {}

  // Null when there is no more, or after a failure.
  const TextGroup* Next() {
    MutexLock lock(mu_);
    return status_.ok() && next_ < groups_.size() ? &groups_[next_++] : nullptr;
  }

  // Ends the work of all.
  void Fail(const absl::Status& status) {
    MutexLock lock(mu_);
    if (status_.ok()) status_ = status;
  }

  void Done(const TextGroup& group, const absl::Status& status) {
    MutexLock lock(mu_);
    if (status_.ok()) status_ = status;
    texts_done_ += group.batch.texts();
    if (on_progress_) on_progress_(texts_done_);
  }

  absl::Status status() {
    MutexLock lock(mu_);
    return status_;
  }

 private:
  const std::vector<TextGroup> groups_;
  const std::function<void(int64_t)> on_progress_;
  Mutex mu_;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t texts_done_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

absl::Status EncodeGroup(Session& session, const TextGroup& group, MatrixView vectors) {
  ATTUNE_ASSIGN_OR_RETURN(const ConstMatrixView hidden, session.Forward(group.batch, {}));
  for (int64_t text = 0; text < group.batch.texts(); ++text) {
    const auto index = static_cast<size_t>(text);
    const ConstMatrixView tokens =
        hidden.Rows(group.batch.row_begin[index], group.batch.row_begin[index + 1]);
    ATTUNE_RETURN_IF_ERROR(
        PoolText(session.engine().default_pooling(), tokens, vectors.row(group.first + text)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Matrix> EncodeTexts(const std::shared_ptr<const Engine>& engine,
                                   absl::Span<const std::string> texts,
                                   const EncodeTextsOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<TextGroup> groups, GroupTexts(*engine, texts));
  Matrix vectors(static_cast<int64_t>(texts.size()), engine->folder().dimension());
  GroupQueue queue(std::move(groups), options.on_progress);
  const auto work = [&queue, &engine, rows = vectors.view()] {
    try {
      Session session(engine, kBatchTokens);
      while (const TextGroup* group = queue.Next()) {
        queue.Done(*group, EncodeGroup(session, *group, rows));
      }
    } catch (const std::bad_alloc&) {
      queue.Fail(absl::ResourceExhaustedError("there is no memory to encode texts"));
    }
  };
  std::vector<std::jthread> helpers;
  try {
    for (int i = 1; i < options.threads; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // Fewer take longer.
  }
  work();
  helpers.clear();  // joins them
  ATTUNE_RETURN_IF_ERROR(queue.status());
  return vectors;
}

}  // namespace attune
