#ifndef ATTUNE_SERVER_CACHE_FOLDER_H_
#define ATTUNE_SERVER_CACHE_FOLDER_H_

#include <string>

namespace attune {

// ${XDG_CACHE_HOME:-~/.cache}/attune; "" for a process that has neither variable.
std::string CacheFolder();

// Where the default model is kept, in that folder.
std::string DefaultModelFolder();

}  // namespace attune

#endif  // ATTUNE_SERVER_CACHE_FOLDER_H_
