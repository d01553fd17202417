#include "engine/quality/quality_cache.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/sha256.h"
#include "engine/ops/kernel_version.h"
#include "engine/quality/quality_texts.h"

namespace attune {
namespace {

constexpr int64_t kMaxFileBytes = 64 << 10;

Json ToJson(const QualityKey& key) {
  return {{"model_revision", key.model_revision},
          {"precision", key.precision},
          {"kernels", key.kernels},
          {"isa", key.isa},
          {"onednn_version", key.onednn_version},
          {"kernel_version", key.kernel_version},
          {"texts", key.texts}};
}

const Json* Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// Each of these says whether the member is there, of the right type and in the range.
bool ReadInteger(const Json& object, const char* name, int64_t& value) {
  const Json* member = Member(object, name);
  const std::optional<int64_t> integer = member == nullptr ? std::nullopt : AsInt64(*member);
  value = integer.value_or(0);
  return value > 0;
}

bool ReadNumber(const Json& object, const char* name, double least, double most, double& value) {
  const Json* member = Member(object, name);
  if (member == nullptr || !member->is_number()) return false;
  value = member->get<double>();
  return value >= least && value <= most;
}

std::optional<QualityFigures> FiguresFrom(const Json& json) {
  // A cosine of doubles can pass 1 by its rounding, and a vector's values pass any bound.
  constexpr double kMostCosine = 1 + 1e-9;
  constexpr double kMostDifference = 1e300;
  QualityFigures figures;
  const bool complete =
      json.is_object() && ReadInteger(json, "texts", figures.texts) &&
      ReadNumber(json, "mean_cosine", -kMostCosine, kMostCosine, figures.mean_cosine) &&
      ReadNumber(json, "min_cosine", -kMostCosine, kMostCosine, figures.min_cosine) &&
      ReadNumber(json, "max_difference", 0, kMostDifference, figures.max_difference) &&
      ReadInteger(json, "neighbours", figures.neighbours) &&
      ReadNumber(json, "mean_overlap", 0, 1, figures.mean_overlap) &&
      ReadNumber(json, "worst_overlap", 0, 1, figures.worst_overlap);
  return complete ? std::make_optional(figures) : std::nullopt;
}

// Whether all of `content` is in the file and the file under its name. Another process sees the old
// file or the new one.
bool WriteAtomically(const std::string& path, const std::string& content) {
  const std::string draft = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream file(draft, std::ios::binary);
  file << content;
  file.close();
  std::error_code error;
  if (file.good()) std::filesystem::rename(draft, path, error);
  const bool written = file.good() && !error;
  if (!written) std::filesystem::remove(draft, error);
  return written;
}

}  // namespace

QualityKey MakeQualityKey(const Engine& candidate) {
  return {.model_revision = candidate.folder().revision,
          .precision = std::string(PrecisionName(candidate.precision())),
          .kernels = candidate.kernel_name(),
          .isa = EffectiveIsa(),
          .onednn_version = OneDnnVersion(),
          .kernel_version = kKernelVersion,
          .texts = QualityTextsDigest()};
}

std::string QualityCache::FileOf(const QualityKey& key) const {
  return absl::StrCat(folder_, "/", Sha256Hex(DumpJson(ToJson(key))), ".json");
}

std::optional<QualityFigures> QualityCache::Find(const QualityKey& key) const {
  if (folder_.empty()) return std::nullopt;
  const absl::StatusOr<std::string> content = ReadFile(FileOf(key), kMaxFileBytes);
  if (!content.ok()) return std::nullopt;
  const absl::StatusOr<Json> json = ParseJson(*content);
  if (!json.ok() || !json->is_object()) return std::nullopt;
  const Json* stored_key = Member(*json, "key");
  const Json* figures = Member(*json, "figures");
  if (stored_key == nullptr || figures == nullptr || *stored_key != ToJson(key)) {
    return std::nullopt;
  }
  return FiguresFrom(*figures);
}

void QualityCache::Store(const QualityKey& key, const QualityFigures& figures) const {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const Json json = {{"key", ToJson(key)}, {"figures", FiguresToJson(figures)}};
  if (!error && WriteAtomically(FileOf(key), json.dump(2) + "\n")) return;
  Log(LogLevel::kDebug, "quality_not_cached", "the next start measures again",
      {{"folder", folder_}});
}

}  // namespace attune
