#include "server/quality_command.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/file_reader.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "engine/engine.h"
#include "engine/ops/precision_probe.h"
#include "engine/quality/compare_vectors.h"
#include "engine/quality/encode_texts.h"
#include "engine/quality/quality_texts.h"
#include "server/cache_folder.h"
#include "server/cpu_budget.h"
#include "server/precision_flags.h"
#include "server/progress_bar.h"
#include "server/quality_report.h"

namespace attune {
namespace {

constexpr int kExitPass = 0;
constexpr int kExitFail = 1;
constexpr int kExitUsage = 2;

constexpr char kDescription[] =
    "Measures how far a model's vectors in bf16 and int8 are from those in f32, over built-in "
    "texts,\n"
    "and says whether a server would take them.\n"
    "\n"
    "  attune-server quality --model ~/.cache/attune/all-MiniLM-L6-v2\n"
    "  attune-server quality --precision int8 --texts my_texts.txt --json\n"
    "\n"
    "Exit codes: 0 all that was measured passes, 1 something fails or cannot be measured, 2 wrong\n"
    "usage.";

constexpr int64_t kMaxTextsFileBytes = int64_t{64} << 20;
// Every text is compared with every other.
constexpr size_t kMaxTexts = 20'000;

struct QualityFlags {
  std::string model = DefaultModelFolder();
  std::string precision = "all";
  std::string kernels = "auto";
  std::string texts;
  int threads = ReadCpuBudget().threads();
  bool json = false;
};

void AddFlags(CLI::App& app, QualityFlags& flags) {
  app.add_option("--model", flags.model, "Model folder")
      ->envname("ATTUNE_MODEL")
      ->capture_default_str();
  app.add_option("--precision", flags.precision, "bf16, int8, or all that this CPU has")
      ->check(CLI::IsMember({"bf16", "int8", "all"}))
      ->capture_default_str();
  app.add_option("--kernels", flags.kernels, "Whose matrix kernels: auto, onednn or native")
      ->check(CLI::IsMember({"auto", "onednn", "native"}))
      ->envname("ATTUNE_KERNELS")
      ->capture_default_str();
  app.add_option("--texts", flags.texts, "Also compare over the texts of FILE, one a line")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  app.add_option("--threads", flags.threads, "Threads that compute")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print JSON instead of a table");
}

// The lines of a file, blank ones left out.
absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxTextsFileBytes));
  std::vector<std::string> texts;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) texts.emplace_back(text);
  }
  if (texts.size() < 2 || texts.size() > kMaxTexts) {
    return absl::InvalidArgumentError(absl::StrCat("--texts ", path, " has ", texts.size(),
                                                   " texts; it must be from 2 to ", kMaxTexts));
  }
  return texts;
}

// Texts, and their vectors in f32.
struct Comparison {
  std::vector<std::string> texts;
  Matrix reference;
};

class QualityRun {
 public:
  static absl::StatusOr<QualityReport> Run(const QualityFlags& flags);

 private:
  explicit QualityRun(const QualityFlags& flags) : flags_(flags) {}

  absl::StatusOr<QualityReport> MeasureReference();
  absl::StatusOr<PrecisionReport> Measure(Precision precision) const;
  // Draws a progress bar meanwhile.
  absl::StatusOr<Matrix> Encode(const std::shared_ptr<const Engine>& engine,
                                const std::vector<std::string>& texts) const;
  absl::StatusOr<QualityFigures> Compare(const std::shared_ptr<const Engine>& candidate,
                                         const Comparison& comparison) const;
  std::vector<Precision> Wanted() const;

  const QualityFlags& flags_;
  Comparison built_in_;
  Comparison given_;  // no texts: none were given
};

std::vector<Precision> QualityRun::Wanted() const {
  if (flags_.precision == "all") return {Precision::kBf16, Precision::kInt8};
  return {*ParsePrecision(flags_.precision)};
}

absl::StatusOr<Matrix> QualityRun::Encode(const std::shared_ptr<const Engine>& engine,
                                          const std::vector<std::string>& texts) const {
  ProgressBar bar(PrecisionName(engine->precision()), static_cast<int64_t>(texts.size()));
  EncodeTextsOptions options;
  options.threads = flags_.threads;
  options.on_progress = [&bar](int64_t done) { bar.Update(done); };
  return EncodeTexts(engine, texts, options);
}

absl::StatusOr<QualityFigures> QualityRun::Compare(const std::shared_ptr<const Engine>& candidate,
                                                   const Comparison& comparison) const {
  ATTUNE_ASSIGN_OR_RETURN(const Matrix vectors, Encode(candidate, comparison.texts));
  return CompareVectors(comparison.reference.view(), vectors.view());
}

absl::StatusOr<QualityReport> QualityRun::MeasureReference() {
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Engine> f32, Engine::Load(flags_.model));
  ATTUNE_ASSIGN_OR_RETURN(built_in_.reference, Encode(f32, built_in_.texts));
  if (!given_.texts.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(given_.reference, Encode(f32, given_.texts));
  }
  QualityReport report;
  report.model = f32->folder().name;
  report.revision = f32->folder().revision;
  report.reference_kernels = f32->kernel_name();
  report.isa = EffectiveIsa();
  return report;
}

absl::StatusOr<PrecisionReport> QualityRun::Measure(Precision precision) const {
  PrecisionReport report;
  report.precision = precision;
  const absl::Status supported = CheckPrecisionSupported(precision);
  if (!supported.ok()) {
    report.missing = std::string(supported.message());
    return report;
  }
  ATTUNE_ASSIGN_OR_RETURN(const LinearKernels kernels, ParseKernelsFlag(flags_.kernels));
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Engine> candidate,
                          Engine::Load(flags_.model, {precision, kernels}));
  report.kernels = candidate->kernel_name();
  ATTUNE_ASSIGN_OR_RETURN(report.built_in, Compare(candidate, built_in_));
  if (!given_.texts.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(report.given, Compare(candidate, given_));
  }
  return report;
}

absl::StatusOr<QualityReport> QualityRun::Run(const QualityFlags& flags) {
  QualityRun run(flags);
  run.built_in_.texts = QualityTexts();
  if (!flags.texts.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(run.given_.texts, ReadTexts(flags.texts));
  }
  ATTUNE_ASSIGN_OR_RETURN(QualityReport report, run.MeasureReference());
  for (const Precision precision : run.Wanted()) {
    ATTUNE_ASSIGN_OR_RETURN(PrecisionReport measured, run.Measure(precision));
    report.precisions.push_back(std::move(measured));
  }
  return report;
}

}  // namespace

int RunQualityCommand(int argc, char** argv) {
  CLI::App app(kDescription, "attune-server quality");
  QualityFlags flags;
  AddFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "attune-server quality: %s (see attune-server quality --help)\n",
                 error.what());
    return kExitUsage;
  }
  SetLogLevel(LogLevel::kError);  // the report says it all
  const absl::StatusOr<QualityReport> report = QualityRun::Run(flags);
  if (!report.ok()) {
    std::fprintf(stderr, "attune-server quality: %s\n",
                 std::string(report.status().message()).c_str());
    return kExitFail;
  }
  std::fputs((flags.json ? ToJson(*report) : ToText(*report)).c_str(), stdout);
  return report->passes() ? kExitPass : kExitFail;
}

}  // namespace attune
