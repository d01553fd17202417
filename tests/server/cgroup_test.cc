#include "server/cgroup.h"

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::TempDir;

TEST(CgroupTest, TakesTheLeastMemoryLimitOfAllAncestors) {
  const TempDir root;
  root.Write("proc/self/cgroup", "0::/pod/container\n");
  root.Write("sys/fs/cgroup/pod/container/memory.max", "max\n");
  root.Write("sys/fs/cgroup/pod/memory.max", "536870912\n");
  root.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), 536'870'912);
}

TEST(CgroupTest, ReadsTheLimitOfANamespacesOwnRoot) {
  const TempDir root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), 1'073'741'824);
}

TEST(CgroupTest, ReadsMemoryLimitsOfVersionOne) {
  const TempDir root;
  root.Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n2:memory:/docker/abc\n");
  root.Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), 268'435'456);
}

TEST(CgroupTest, HasNoLimitWhereNoneIsSetOrReadable) {
  const TempDir root;
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), std::nullopt);
  root.Write("proc/self/cgroup", "0::/a\n2:memory:/a\n");
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), std::nullopt);
  root.Write("sys/fs/cgroup/a/memory.max", "max\n");
  root.Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(ReadCgroupMemoryLimit(root.path()), std::nullopt);
}

}  // namespace
}  // namespace attune
