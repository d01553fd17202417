#ifndef ATTUNE_SERVER_TOKEN_COMMAND_H_
#define ATTUNE_SERVER_TOKEN_COMMAND_H_

namespace attune {

// `attune-server token NAME`: prints a new random token, and on a second line its entry for
// --token-file. `argv` begins with the command's own name. Returns the exit code: 0 done, 1 no
// randomness to be had, 2 wrong usage.
int RunTokenCommand(int argc, char** argv);

}  // namespace attune

#endif  // ATTUNE_SERVER_TOKEN_COMMAND_H_
