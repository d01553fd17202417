#include "server/cpu_budget.h"

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::TempDir;

TEST(CpuBudgetTest, ReadsCpuMax) {
  EXPECT_EQ(ParseCpuMax("200000 100000\n"), 2.0);
  EXPECT_EQ(ParseCpuMax("765000 100000"), 7.65);
  EXPECT_EQ(ParseCpuMax("max 100000"), std::nullopt);
  EXPECT_EQ(ParseCpuMax(""), std::nullopt);
  EXPECT_EQ(ParseCpuMax("-1 100000"), std::nullopt);
}

TEST(CpuBudgetTest, C58RoundsTheQuotaDownButNeverToZero) {
  EXPECT_EQ((CpuBudget{{0, 1, 2, 3, 4, 5, 6, 7}, 7.65}.threads()), 7);
  EXPECT_EQ((CpuBudget{{0, 1}, 0.5}.threads()), 1);
  EXPECT_EQ((CpuBudget{{0, 1}, 16.0}.threads()), 2);
  EXPECT_EQ((CpuBudget{{0, 1, 2}, std::nullopt}.threads()), 3);
  EXPECT_EQ((CpuBudget{}.threads()), 1);
}

TEST(CpuBudgetTest, C58TakesTheSmallestQuotaOfAllAncestors) {
  const TempDir root;
  root.Write("proc/self/cgroup", "0::/pod/container\n");
  root.Write("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  root.Write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(ReadCgroupQuota(root.path()), 1.5);
}

TEST(CpuBudgetTest, ReadsControlGroupsOfVersionOne) {
  const TempDir root;
  root.Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n2:memory:/docker/abc\n");
  root.Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "250000\n");
  root.Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(ReadCgroupQuota(root.path()), 2.5);
}

TEST(CpuBudgetTest, HasNoQuotaWhereNothingCanBeRead) {
  const TempDir root;
  EXPECT_EQ(ReadCgroupQuota(root.path()), std::nullopt);
}

}  // namespace
}  // namespace attune
