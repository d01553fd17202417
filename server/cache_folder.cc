#include "server/cache_folder.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace attune {

std::string CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return absl::StrCat(cache, "/attune");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return absl::StrCat(home, "/.cache/attune");
  return "";
}

std::string DefaultModelFolder() { return CacheFolder() + "/all-MiniLM-L6-v2"; }

}  // namespace attune
