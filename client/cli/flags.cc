#include "client/cli/flags.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace attune::cli {

Flag& Flag::OneOf(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

template <typename T>
Flag& Flag::InRange(T low, T high) {
  option_->check(CLI::Range(low, high));
  return *this;
}
template Flag& Flag::InRange(int low, int high);
template Flag& Flag::InRange(uint64_t low, uint64_t high);
template Flag& Flag::InRange(double low, double high);

Flag& Flag::Positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag& Flag::Valid(std::function<absl::Status(absl::string_view text)> check) {
  option_->check([check = std::move(check)](const std::string& text) {
    return std::string(check(text).message());
  });
  return *this;
}

Flag& Flag::Required() {
  option_->required();
  return *this;
}

Flag& Flag::Repeatable() {
  option_->take_all();
  return *this;
}

Flag& Flag::Excludes(Flag other) {
  option_->excludes(other.option_);
  return *this;
}

Flag& Flag::Needs(Flag other) {
  option_->needs(other.option_);
  return *this;
}

Flag& Flag::Variable(const std::string& name) {
  option_->envname(name);
  return *this;
}

Flag& Flag::Takes(const std::string& what) {
  option_->type_name(what);
  return *this;
}

Flag& Flag::Group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Flag& Flag::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Flag& Flag::Default(const std::string& text) {
  option_->default_str(text);
  return *this;
}

bool Flag::given() const { return option_->count() > 0; }

Flags::Flags(CLI::App& parent, const std::string& command, const std::string& description,
             const std::string& examples)
    : app_(*parent.add_subcommand(command, description)) {
  app_.footer(examples);
}

bool Flags::command_given() const { return app_.parsed(); }

template <typename T>
Flag Flags::Add(const std::string& name, T& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
template Flag Flags::Add(const std::string&, std::string&, const std::string&);
template Flag Flags::Add(const std::string&, std::vector<std::string>&, const std::string&);
template Flag Flags::Add(const std::string&, int&, const std::string&);
template Flag Flags::Add(const std::string&, uint64_t&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<int>&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<uint32_t>&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<uint64_t>&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<double>&, const std::string&);

Flag Flags::AddRead(const std::string& name,
                    std::function<absl::Status(absl::string_view text)> read,
                    const std::string& help) {
  const auto callback = [name, read = std::move(read)](const CLI::results_t& values) {
    for (const std::string& value : values) {
      const absl::Status status = read(value);
      if (!status.ok()) throw CLI::ValidationError(name, std::string(status.message()));
    }
    return true;
  };
  return Flag(app_.add_option(name, callback, help));
}

Flag Flags::AddDuration(const std::string& name, absl::Duration& value, const std::string& help) {
  const auto parse = [&value](const CLI::results_t& results) {
    const absl::StatusOr<absl::Duration> duration = ParseDurationFlag(results.back());
    if (duration.ok()) value = *duration;
    return duration.ok();
  };
  return Flag(app_.add_option(name, parse, help))
      .Takes("TIME")
      .Valid([](absl::string_view text) { return ParseDurationFlag(text).status(); })
      .Default(absl::FormatDuration(value));
}

Flag Flags::AddSwitch(const std::string& name, bool& value, const std::string& help) {
  return Flag(app_.add_flag(name, value, help));
}

Flag Flags::AddSwitch(const std::string& name, std::function<void()> given,
                      const std::string& help) {
  return Flag(app_.add_flag_callback(name, std::move(given), help));
}

void Flags::Check(std::function<absl::Status()> check) {
  app_.parse_complete_callback([check = std::move(check)] {
    const absl::Status status = check();
    if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
  });
}

absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view text) {
  absl::Duration duration;
  double seconds = 0;
  const bool parsed = absl::SimpleAtod(text, &seconds) ? (duration = absl::Seconds(seconds), true)
                                                       : absl::ParseDuration(text, &duration);
  if (!parsed || duration <= absl::ZeroDuration() || duration > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a time such as 5, 500ms or 2m, above 0 and up to 24h"));
  }
  return duration;
}

}  // namespace attune::cli
