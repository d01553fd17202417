// What `attune-server quality` prints.
#ifndef ATTUNE_SERVER_QUALITY_REPORT_H_
#define ATTUNE_SERVER_QUALITY_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/ops/precision.h"
#include "engine/quality/compare_vectors.h"

namespace attune {

// One precision against f32.
struct PrecisionReport {
  Precision precision = Precision::kBf16;
  // Why it was not measured; "" if it was.
  std::string missing;
  std::string kernels;
  QualityFigures built_in;              // over the built-in texts: what the gate judges
  std::optional<QualityFigures> given;  // over the texts that the user gave

  bool measured() const { return missing.empty(); }
  bool passes() const;
};

struct QualityReport {
  std::string model;
  std::string revision;
  std::string reference_kernels;  // f32's
  std::string isa;
  std::vector<PrecisionReport> precisions;

  // Something was measured, and all of it passes.
  bool passes() const;
};

// A table for people, with the limits and a verdict. Lines end in '\n'.
std::string ToText(const QualityReport& report);
// The same as a JSON object.
std::string ToJson(const QualityReport& report);

}  // namespace attune

#endif  // ATTUNE_SERVER_QUALITY_REPORT_H_
