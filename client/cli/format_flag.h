// --format NAME, and --NAME as a short form of each format for programs.
#ifndef ATTUNE_CLIENT_CLI_FORMAT_FLAG_H_
#define ATTUNE_CLIENT_CLI_FORMAT_FLAG_H_

#include <string>
#include <vector>

#include "client/cli/flags.h"

namespace attune::cli {

// `formats` begins with the one for people, which has no short form. `format` is the default, and
// must outlive the command line. `group` is the heading in the help.
void AddFormatFlag(Flags& flags, const std::vector<std::string>& formats, std::string& format,
                   const std::string& description, const std::string& group = "Options");

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_FORMAT_FLAG_H_
