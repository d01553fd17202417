#include "server/quality_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/json.h"
#include "engine/quality/quality_gate.h"

namespace attune {
namespace {

std::string Row(absl::string_view precision, absl::string_view texts,
                const QualityFigures& figures) {
  return absl::StrFormat("%-9s  %-8s  %5d  %.7f    %.7f   %-18.6f  %.4f        %.1f\n", precision,
                         texts, figures.texts, figures.mean_cosine, figures.min_cosine,
                         figures.max_difference, figures.mean_overlap, figures.worst_overlap);
}

std::string Verdict(const PrecisionReport& report) {
  const absl::string_view name = PrecisionName(report.precision);
  if (!report.measured()) return absl::StrCat(name, ": not measured: ", report.missing, "\n");
  return absl::StrCat(name, report.passes() ? " passes: " : " FAILS: ",
                      DescribeGate(report.precision, report.built_in), " (", report.kernels, ")\n");
}

Json PrecisionJson(const PrecisionReport& report) {
  Json json = {{"precision", PrecisionName(report.precision)}};
  if (!report.measured()) {
    json["missing"] = report.missing;
    return json;
  }
  const QualityLimits limits = LimitsOf(report.precision);
  json["kernels"] = report.kernels;
  json["passes"] = report.passes();
  json["limits"] = {{"mean_cosine", limits.mean_cosine}, {"min_cosine", limits.min_cosine}};
  json["built_in_texts"] = FiguresToJson(report.built_in);
  if (report.given.has_value()) json["given_texts"] = FiguresToJson(*report.given);
  return json;
}

}  // namespace

bool PrecisionReport::passes() const { return measured() && PassesGate(precision, built_in); }

bool QualityReport::passes() const {
  bool any = false;
  for (const PrecisionReport& report : precisions) {
    if (report.measured() && !report.passes()) return false;
    any |= report.measured();
  }
  return any;
}

std::string ToText(const QualityReport& report) {
  std::string text =
      absl::StrCat("model      ", report.model, "\n", "revision   ", report.revision, "\n",
                   "reference  f32 (", report.reference_kernels, ") on ", report.isa, "\n\n");
  const auto measured = std::count_if(report.precisions.begin(), report.precisions.end(),
                                      [](const auto& entry) { return entry.measured(); });
  if (measured > 0) {
    absl::StrAppend(&text,
                    "precision  texts     count  mean cosine  min cosine  largest difference  "
                    "same top 10   worst\n");
    for (const PrecisionReport& entry : report.precisions) {
      if (!entry.measured()) continue;
      absl::StrAppend(&text, Row(PrecisionName(entry.precision), "built-in", entry.built_in));
      if (entry.given.has_value()) absl::StrAppend(&text, Row("", "given", *entry.given));
    }
    absl::StrAppend(&text, "\n");
  }
  for (const PrecisionReport& entry : report.precisions) absl::StrAppend(&text, Verdict(entry));
  return text;
}

std::string ToJson(const QualityReport& report) {
  Json json = {{"model", report.model},     {"revision", report.revision},
               {"isa", report.isa},         {"reference_kernels", report.reference_kernels},
               {"passes", report.passes()}, {"precisions", Json::array()}};
  for (const PrecisionReport& entry : report.precisions) {
    json["precisions"].push_back(PrecisionJson(entry));
  }
  return absl::StrCat(json.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace attune
