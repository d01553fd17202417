// Feeds every file of the folders named on the command line to a fuzz target, once. For builds
// without libFuzzer, so that what a fuzzer once found stays a test everywhere.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  constexpr std::chrono::seconds kTooSlow(1);
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i], error)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "no input: usage: %s CORPUS_FOLDER...\n", argv[0]);
    return 1;
  }
  std::sort(files.begin(), files.end());
  bool slow = false;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    std::fprintf(stderr, "%s: %zu bytes\n", file.c_str(), bytes.size());
    const auto start = std::chrono::steady_clock::now();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (std::chrono::steady_clock::now() - start > kTooSlow) {
      std::fprintf(stderr, "%s: took longer than a second\n", file.c_str());
      slow = true;
    }
  }
  return slow ? 1 : 0;
}
