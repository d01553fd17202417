#include "server/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::TempDir;
using ::testing::DoubleEq;
using ::testing::Gt;
using ::testing::Optional;

TEST(ProcessMetricsTest, ReadsThisProcess) {
  const ProcessReading reading = ReadProcess();
  EXPECT_THAT(reading.resident_bytes, Optional(Gt(1e6)));
  EXPECT_THAT(reading.virtual_bytes, Optional(Gt(*reading.resident_bytes)));
  EXPECT_THAT(reading.start_time_seconds, Optional(Gt(1e9)));
  EXPECT_THAT(reading.open_fds, Optional(Gt(2.0)));
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(reading.max_fds, Optional(DoubleEq(static_cast<double>(limit.rlim_cur))));
  ASSERT_TRUE(reading.cpu_seconds.has_value());
  EXPECT_GE(*reading.cpu_seconds, 0);
}

TEST(ProcessMetricsTest, AProgramsNameMayLookLikeFields) {
  const TempDir root;
  root.Write("proc/self/stat",
             "7 (a) R 1 (b) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 4 0 500 4096 2 0\n");
  root.Write("proc/stat", "cpu 1 2\nbtime 1000\n");
  const ProcessReading reading = ReadProcess(root.path());
  EXPECT_THAT(reading.cpu_seconds, Optional(DoubleEq(200.0 / sysconf(_SC_CLK_TCK))));
  EXPECT_THAT(reading.start_time_seconds, Optional(DoubleEq(1000 + 500.0 / sysconf(_SC_CLK_TCK))));
  EXPECT_THAT(reading.virtual_bytes, Optional(DoubleEq(4096)));
  EXPECT_EQ(reading.open_fds, std::nullopt);
}

TEST(ProcessMetricsTest, ThrottledTimeComesFromEitherVersionOfControlGroups) {
  EXPECT_THAT(ParseThrottledSeconds("usage_usec 9\nnr_throttled 3\nthrottled_usec 2500000\n"),
              Optional(DoubleEq(2.5)));
  EXPECT_THAT(ParseThrottledSeconds("nr_throttled 3\nthrottled_time 2500000000\n"),
              Optional(DoubleEq(2.5)));
  EXPECT_EQ(ParseThrottledSeconds("usage_usec 9\n"), std::nullopt);
  EXPECT_EQ(ParseThrottledSeconds(""), std::nullopt);

  const TempDir root;
  root.Write("proc/self/cgroup", "0::/pod/attune\n");
  root.Write("sys/fs/cgroup/pod/attune/cpu.stat", "throttled_usec 1000000\n");
  EXPECT_THAT(ReadProcess(root.path()).throttled_seconds, Optional(DoubleEq(1)));
}

TEST(ProcessMetricsTest, CountersNeverGoBack) {
  prometheus::Registry registry;
  ProcessMetrics metrics(registry);
  ProcessReading reading;
  const auto cpu_seconds = [&registry] {
    for (const auto& family : registry.Collect()) {
      if (family.name == "process_cpu_seconds_total") return family.metric.at(0).counter.value;
    }
    return -1.0;
  };
  reading.cpu_seconds = 3.5;
  metrics.Update(reading);
  EXPECT_DOUBLE_EQ(cpu_seconds(), 3.5);
  reading.cpu_seconds = 2;
  metrics.Update(reading);
  EXPECT_DOUBLE_EQ(cpu_seconds(), 3.5);
  metrics.Update({});
  EXPECT_DOUBLE_EQ(cpu_seconds(), 3.5);
}

}  // namespace
}  // namespace attune
