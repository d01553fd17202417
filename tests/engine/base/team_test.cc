#include "engine/base/team.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::Each;
using ::testing::Eq;

// What a thread brings: how many parts it ran.
struct Seat {
  int parts = 0;
};

bool Never() { return false; }

TEST(TeamTest, ALeaderWithoutHelpersRunsEveryPartInOrder) {
  Team<Seat> team(0);
  EXPECT_EQ(team.lanes(), 1);
  Seat seat;
  std::vector<int> order;
  team.Run(seat, 3, [&](Seat& own, int part) {
    ++own.parts;
    order.push_back(part);
  });
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(seat.parts, 3);
}

TEST(TeamTest, AStepWithoutPartsEnds) {
  Team<Seat> team(1);
  Seat seat;
  team.Run(seat, 0, [](Seat&, int) { FAIL(); });
}

TEST(TeamTest, AnInvitedHelperThatNeverComesDelaysNothing) {
  Team<Seat> team(3);
  EXPECT_EQ(team.lanes(), 4);
  Seat seat;
  team.Run(seat, 4, [](Seat& own, int) { ++own.parts; });
  EXPECT_EQ(seat.parts, 4);
  team.Dismiss();
}

// Plain ints: ThreadSanitizer sees whether a step's writes reach the next step's reader.
TEST(TeamTest, EveryPartOfEveryStepRunsOnceAndIsSeenByTheNext) {
  constexpr int kSteps = 2'000;
  constexpr int kParts = 5;
  constexpr int kHelpers = 3;
  Team<Seat> team(kHelpers);
  std::vector<Seat> seats(kHelpers + 1);
  std::vector<std::thread> helpers;
  for (int i = 1; i <= kHelpers; ++i) {
    helpers.emplace_back(
        [&team, &seat = seats[static_cast<size_t>(i)]] { team.Help(seat, Never); });
  }
  std::vector<int> now(kParts, 0);
  std::vector<int> next(kParts, 0);
  for (int step = 0; step < kSteps; ++step) {
    // Each part reads what another part of the step before wrote.
    team.Run(seats[0], kParts, [&](Seat& own, int part) {
      ++own.parts;
      next[static_cast<size_t>(part)] = now[static_cast<size_t>((part + 1) % kParts)] + 1;
    });
    now.swap(next);
  }
  team.Dismiss();
  for (std::thread& helper : helpers) helper.join();
  EXPECT_THAT(now, Each(Eq(kSteps)));
  int parts = 0;
  for (const Seat& seat : seats) parts += seat.parts;
  EXPECT_EQ(parts, kSteps * kParts);
}

TEST(TeamTest, AHelperTakesPartWhileTheLeaderIsBusy) {
  Team<Seat> team(1);
  Seat leader;
  Seat other;
  std::thread helper([&] { team.Help(other, Never); });
  // Each part waits for the other, which only a second thread can run.
  std::atomic<int> arrived{0};
  team.Run(leader, 2, [&](Seat& own, int) {
    ++own.parts;
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  team.Dismiss();
  helper.join();
  EXPECT_EQ(leader.parts, 1);
  EXPECT_EQ(other.parts, 1);
}

TEST(TeamTest, AHelperThatWantsToLeaveIsGoneAfterAStep) {
  Seat leader;
  Seat other;
  bool held_up = true;
  // Again with another team where the system held the helper up, and the leader went on alone.
  while (held_up) {
    Team<Seat> team(1);
    std::thread helper([&] { team.Help(other, [] { return true; }); });
    // Steps go on until the helper has seen one of them.
    while (team.lanes() == 2) team.Run(leader, 2, [](Seat& own, int) { ++own.parts; });
    held_up = team.held_up();
    if (held_up) team.Dismiss();
    helper.join();
    if (held_up) continue;
    const int before = other.parts;
    team.Run(leader, 2, [](Seat& own, int) { ++own.parts; });
    EXPECT_EQ(other.parts, before);
  }
}

TEST(TeamTest, ALeaderWhoWaitedLongGoesOnAlone) {
  Team<Seat> team(1);
  Seat leader;
  Seat other;
  std::thread helper([&] { team.Help(other, Never); });
  EXPECT_FALSE(team.held_up());
  // The helper is slow and the leader is not; sooner or later the leader sees that.
  while (!team.held_up()) {
    team.Run(leader, 2, [&](Seat& own, int) {
      ++own.parts;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      while (&own == &other && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
  }
  EXPECT_EQ(team.lanes(), 1);
  const int before = leader.parts;
  team.Run(leader, 2, [](Seat& own, int) { ++own.parts; });
  EXPECT_EQ(leader.parts, before + 2);
  team.Dismiss();
  helper.join();
}

TEST(TeamTest, ADismissedTeamSendsLateHelpersHome) {
  Team<Seat> team(1);
  team.Dismiss();
  Seat seat;
  team.Help(seat, Never);
  EXPECT_EQ(seat.parts, 0);
}

}  // namespace
}  // namespace attune
