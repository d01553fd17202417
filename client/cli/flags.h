// What a command takes on the command line: CLI11, whose header takes longer to compile than all
// the rest of a command, behind an interface that does not show it.
#ifndef ATTUNE_CLIENT_CLI_FLAGS_H_
#define ATTUNE_CLIENT_CLI_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attune::cli {

// A flag or argument that was added: refers to it, and is copied freely. What is set here shows in
// the help.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  // Which values are right; others are wrong usage.
  Flag& OneOf(const std::vector<std::string>& values);
  template <typename T>
  Flag& InRange(T low, T high);  // int, uint64_t or double
  Flag& Positive();
  Flag& Valid(std::function<absl::Status(absl::string_view text)> check);

  Flag& Required();
  Flag& Repeatable();  // takes every value, not the last
  Flag& Excludes(Flag other);
  Flag& Needs(Flag other);

  Flag& Variable(const std::string& name);  // the environment's, for when the flag is not given
  Flag& Takes(const std::string& what);     // e.g. FILE
  Flag& Group(const std::string& heading);
  Flag& ShowDefault();  // the variable's value when the flag was added
  Flag& Default(const std::string& text);

  bool given() const;

 private:
  CLI::Option* option_;
};

// The flags of a command. What they fill in must live until the command line has been read.
class Flags {
 public:
  // Adds a command to `parent`, which is borrowed. `examples` are shown under the help.
  Flags(CLI::App& parent, const std::string& command, const std::string& description,
        const std::string& examples);

  bool command_given() const;

  // `name` is "-s,--server", or "text" for an argument. `value` is a string, a vector of them, an
  // int, a uint64_t, or a std::optional of int, uint32_t, uint64_t or double.
  template <typename T>
  Flag Add(const std::string& name, T& value, const std::string& help);
  // Hands each value to `read`, whose errors are wrong usage.
  Flag AddRead(const std::string& name, std::function<absl::Status(absl::string_view text)> read,
               const std::string& help);
  // Takes what ParseDurationFlag takes, and shows `value` as the default.
  Flag AddDuration(const std::string& name, absl::Duration& value, const std::string& help);
  Flag AddSwitch(const std::string& name, bool& value, const std::string& help);
  Flag AddSwitch(const std::string& name, std::function<void()> given, const std::string& help);

  // Called once all flags have been read; an error is wrong usage.
  void Check(std::function<absl::Status()> check);

 private:
  CLI::App& app_;
};

// "2.5" (seconds), "500ms" or "1m30s", above 0 and at most a day. kInvalidArgument otherwise.
absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view text);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_FLAGS_H_
