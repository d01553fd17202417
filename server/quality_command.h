#ifndef ATTUNE_SERVER_QUALITY_COMMAND_H_
#define ATTUNE_SERVER_QUALITY_COMMAND_H_

namespace attune {

// `attune-server quality`: measures reduced precisions against f32 and prints figures and a
// verdict. `argv` begins with the command's own name. Returns the exit code: 0 all that was
// measured passes, 1 something fails or could not be measured, 2 wrong usage.
int RunQualityCommand(int argc, char** argv);

}  // namespace attune

#endif  // ATTUNE_SERVER_QUALITY_COMMAND_H_
