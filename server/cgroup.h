// What control groups allow this process: the limits that containers set. Files are read below a
// `root`, "" but in tests: <root>/proc/self/cgroup and <root>/sys/fs/cgroup. What cannot be read
// counts as no limit.
#ifndef ATTUNE_SERVER_CGROUP_H_
#define ATTUNE_SERVER_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace attune {

// A file of /proc or /sys, which have no size; "" if it cannot be read.
std::string ReadSystemFile(const std::string& path);

// The folders of this process's control group and all its ancestors in one hierarchy, from the
// bottom up. `controller` is "" for version 2, else one of version 1's, such as "cpu". Empty if the
// process is in no such hierarchy.
std::vector<std::string> CgroupFolders(const std::string& root, absl::string_view controller);

// The least memory limit of all those groups, in bytes (version 2's memory.max, else version 1's
// memory.limit_in_bytes); absent if none has one.
std::optional<int64_t> ReadCgroupMemoryLimit(const std::string& root);

}  // namespace attune

#endif  // ATTUNE_SERVER_CGROUP_H_
