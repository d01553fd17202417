#include "server/metrics/metrics.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// "attune_ready 0" is the series "attune_ready"; labels count, a bucket's bound too.
std::set<std::string> SeriesOf(const std::string& text) {
  std::set<std::string> series;
  for (const std::string& line : Lines(text)) {
    if (!absl::StartsWith(line, "#")) series.insert(line.substr(0, line.rfind(' ')));
  }
  return series;
}

TEST(MetricsTest, EverySeriesIsThereBeforeTheFirstCall) {
  Metrics metrics;
  const std::string text = metrics.Text();
  for (const char* line :
       {"attune_rpc_started_total{method=\"Encode\"} 0",
        "attune_rpc_started_total{method=\"_OTHER\"} 0",
        "attune_rpc_in_flight{method=\"StreamEncode\"} 0",
        "attune_rpc_duration_seconds_count{code=\"OK\",method=\"GetModel\"} 0",
        "attune_rpc_duration_seconds_bucket{code=\"UNKNOWN\",method=\"_OTHER\",le=\"60\"} 0",
        "attune_rpc_request_bytes_count{method=\"Attend\"} 0",
        "attune_rpc_response_bytes_count{method=\"HeadStatistics\"} 0",
        "attune_queue_depth 0",
        "attune_queue_tokens 0",
        "attune_pending_bytes 0",
        "attune_queue_wait_seconds_count{class=\"interactive\"} 0",
        "attune_queue_wait_seconds_count{class=\"bulk\"} 0",
        "attune_tokenize_seconds_count 0",
        "attune_compute_seconds_count 0",
        "attune_stream_stall_seconds_count 0",
        "attune_batch_items_count 0",
        "attune_batch_tokens_bucket{le=\"1024\"} 0",
        "attune_rejected_total{reason=\"QUEUE_FULL\"} 0",
        "attune_dropped_total{reason=\"deadline\"} 0",
        "attune_dropped_total{reason=\"cancelled\"} 0",
        "attune_truncated_texts_total 0",
        "attune_nonfinite_outputs_total 0",
        "attune_auth_failures_total 0",
        "attune_tls_reload_failures_total 0",
        "attune_attention_streams 0",
        "attune_attention_reserved_bytes 0",
        "attune_tls_cert_expiry_timestamp_seconds 0",
        "attune_ready 0",
        "attune_memory_budget_bytes 0",
        "attune_build_info{",
        "attune_model_info{",
        "attune_cpu_throttled_seconds_total ",
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_virtual_memory_bytes ",
        "process_start_time_seconds ",
        "process_open_fds ",
        "process_max_fds "}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line)));
  }
}

TEST(MetricsTest, CountingMakesNoNewSeries) {
  Metrics metrics;
  const std::set<std::string> before = SeriesOf(metrics.Text());
  for (const RpcMethod method : kRpcMethods) {
    for (int code = 0; code < 20; ++code) {
      metrics.rpc().Started(method);
      metrics.rpc().Finished(method, {static_cast<absl::StatusCode>(code), absl::Hours(1), 1, 1});
    }
  }
  metrics.work().CountIfRefused(absl::UnavailableError("loading"));
  metrics.work().CountIfRefused(absl::ResourceExhaustedError("full"));
  metrics.work().OnItemDropped(absl::StatusCode::kCancelled);
  metrics.work().OnItemTaken(WorkClass::kBulk, absl::Seconds(1));
  metrics.work().Computed(1 << 20, 1 << 30, absl::Seconds(1));
  EXPECT_EQ(SeriesOf(metrics.Text()), before);

  std::set<std::string> label_sets;  // a histogram's buckets, sum and count are one
  for (const std::string& series : before) {
    if (!absl::StrContains(series, "le=\"") && !absl::StrContains(series, "_sum")) {
      label_sets.insert(series);
    }
  }
  EXPECT_THAT(label_sets.size(), Lt(1000u));
}

TEST(MetricsTest, ACodeThatIsNoneOfOursCountsAsUnknown) {
  Metrics metrics;
  metrics.rpc().Started(RpcMethod::kEncode);
  metrics.rpc().Finished(RpcMethod::kEncode, {absl::StatusCode::kDataLoss, absl::Seconds(3), 7, 9});
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("attune_rpc_duration_seconds_count{code=\"UNKNOWN\","
                              "method=\"Encode\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_rpc_duration_seconds_bucket{code=\"UNKNOWN\","
                              "method=\"Encode\",le=\"2\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("attune_rpc_duration_seconds_bucket{code=\"UNKNOWN\","
                              "method=\"Encode\",le=\"5\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_rpc_request_bytes_sum{method=\"Encode\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("attune_rpc_response_bytes_sum{method=\"Encode\"} 9\n"));
}

TEST(MetricsTest, ANewModelTakesThePlaceOfTheOld) {
  Metrics metrics;
  metrics.server().SetModel({"first", "1", "f32", "avx2", "aa"});
  metrics.server().SetModel({"second \"quoted\"", "2", "bf16", "avx2", "bb"});
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("name=\"second \\\"quoted\\\"\""));
  EXPECT_THAT(text, Not(HasSubstr("name=\"first\"")));
}

TEST(MetricsTest, LoadIsAskedForWhenItIsScraped) {
  Metrics metrics;
  metrics.SetLoadSource([] { return WorkLoad{1, 20, 300, 4000, 50000}; });
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("attune_queue_depth 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_queue_tokens 20\n"));
  EXPECT_THAT(text, HasSubstr("attune_pending_bytes 300\n"));
  EXPECT_THAT(text, HasSubstr("attune_attention_reserved_bytes 4000\n"));
  EXPECT_THAT(text, HasSubstr("attune_queue_tokens_limit 50000\n"));
}

TEST(MetricsTest, RefusalsCountByTheirReason) {
  Metrics metrics;
  absl::Status full = absl::ResourceExhaustedError("the queue is full");
  // A google.rpc.ErrorInfo: field 1, its reason.
  full.SetPayload("type.googleapis.com/google.rpc.ErrorInfo",
                  absl::Cord(absl::StrCat("\n\x0A", "QUEUE_FULL", "\x12\x06", "attune")));
  metrics.work().CountIfRefused(full);
  metrics.work().CountIfRefused(absl::UnavailableError("no reason given"));
  metrics.work().CountIfRefused(absl::InvalidArgumentError("the caller's mistake"));
  metrics.work().CountIfRefused(absl::OkStatus());
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("attune_rejected_total{reason=\"QUEUE_FULL\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_rejected_total{reason=\"OTHER\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("attune_rejected_total{reason=\"DRAINING\"} 0\n"));
}

}  // namespace
}  // namespace attune
