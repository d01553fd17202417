#include "tests/support/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "gtest/gtest.h"

namespace attune::testing {

namespace fs = std::filesystem;

TempDir::TempDir() : path_(absl::StrCat(::testing::TempDir(), "attune_test_XXXXXX")) {
  ATTUNE_CHECK(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

std::string TempDir::Path(absl::string_view relative) const {
  return absl::StrCat(path_, "/", relative);
}

void TempDir::Write(absl::string_view relative, absl::string_view content) const {
  const fs::path path = Path(relative);
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  ATTUNE_CHECK(file.good());
}

std::string TempDir::Read(absl::string_view relative) const {
  std::ifstream file(Path(relative), std::ios::binary);
  ATTUNE_CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void TempDir::Remove(absl::string_view relative) const {
  ATTUNE_CHECK(fs::remove_all(Path(relative)) > 0);
}

}  // namespace attune::testing
