#ifndef ATTUNE_TESTS_SUPPORT_TEMP_DIR_H_
#define ATTUNE_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attune::testing {

// A fresh folder below the test's temporary directory; removed with everything in it. Aborts when
// the disk refuses, since no test can go on then.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&&) = delete;

  const std::string& path() const { return path_; }
  // The path of `relative` in this folder.
  std::string Path(absl::string_view relative) const;

  // Creates the folders on the way to `relative` as needed. An existing file is replaced, a
  // symbolic link written through.
  void Write(absl::string_view relative, absl::string_view content) const;
  std::string Read(absl::string_view relative) const;
  void Remove(absl::string_view relative) const;

 private:
  std::string path_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_TEMP_DIR_H_
