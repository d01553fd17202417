// Everything that clients do to a server, good and bad, all at once, with every answer checked.
#ifndef ATTUNE_TESTS_SOAK_MIXED_LOAD_H_
#define ATTUNE_TESTS_SOAK_MIXED_LOAD_H_

#include <grpcpp/channel.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/soak/known_texts.h"

namespace attune::testing {

// How calls ended. Each call is in exactly one of these.
enum class Ending {
  kAnswered,     // rightly: with the vectors and maps of its own texts, bit for bit
  kCancelled,    // by us
  kExpired,      // its deadline
  kRejected,     // bad input, with the code it should have
  kRefused,      // RESOURCE_EXHAUSTED or UNAVAILABLE with the server's reason, to be tried again
  kWrongAnswer,  // an answer that is not the request's
  kWrongCode,    // any other code
};
constexpr int kEndings = 7;
absl::string_view EndingName(Ending ending);

struct Tally {
  std::array<uint64_t, kEndings> ended = {};
  uint64_t started = 0;
  std::string first_fault;  // of the wrong ones, for people

  uint64_t of(Ending ending) const { return ended[static_cast<size_t>(ending)]; }
  uint64_t calls_ended() const;
  // Wrong answers and wrong codes.
  uint64_t faults() const { return of(Ending::kWrongAnswer) + of(Ending::kWrongCode); }

  void Add(Ending ending) { ++ended[static_cast<size_t>(ending)]; }
  void Fault(Ending ending, std::string what);
  void Merge(const Tally& other);
};

struct LoadPlan {
  int clients = 8;
  absl::Time until;
  uint64_t seed = 1;
};

// Runs `plan.clients` clients, each with one call after another: single texts and lists, streams,
// attention maps, deadlines too short, cancels at any time, bad requests. A client ends before
// `plan.until` when a refusal tells it that the server drains. Returns when the last call of each
// has ended. A call that has no end within 100 seconds, as when its reply was lost, and one that is
// cut off without a reason, counts as a wrong code.
Tally RunMixedLoad(const std::shared_ptr<grpc::Channel>& channel, const KnownTexts& texts,
                   const LoadPlan& plan);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SOAK_MIXED_LOAD_H_
