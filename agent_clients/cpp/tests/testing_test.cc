#include "reglue/testing.h"

#include <gtest/gtest.h>

#include <string>

namespace reglue {
namespace {

TaskSpec two_slots() {
  TaskSpec spec;
  spec.observations = {{"desired_goal", Dtype::Float64, {}, Box{}}};
  spec.actions = {{"move", Dtype::Float32, {2}, Box{}}};
  spec.slots = 2;
  return spec;
}

/// Moves by its goal in the first direction; abandons slots without one.
class Mover : public Agent {
 public:
  void agent_start(const Observations&, const Starts& starts, Actions& actions) override {
    EXPECT_EQ(spec().actions[0].size(), 2U);
    EXPECT_EQ(phase(), Phase::Evaluate);
    EXPECT_EQ(budget().step_us, 500U);
    for (std::size_t row = 0; row < starts.size(); ++row) {
      const double goal = get_goal(starts.slots[row])["desired_goal"].number(0);
      actions["move"].set(row, 0, goal);
      if (goal == 0) actions.abandon(starts.slots[row]);
    }
  }
};

TEST(Testing, AnAgentThatUsesItsSpecPlaysWithoutAGlue) {
  Mover agent;
  const TaskSpec spec = two_slots();
  testing::agent_init(agent, spec);
  const FilledRows seen = testing::observations(spec, 2);
  seen["desired_goal"].set(1, 0, 2.5);
  const std::vector<std::uint32_t> slots{1, 0};
  const std::vector<std::uint64_t> seeds{7, 8};
  Turn turn;
  turn.phase = Phase::Evaluate;
  turn.starts = {slots, seeds};
  turn.observations = seen;
  Budget budget;
  budget.step_us = 500;
  const testing::Answer answer = testing::agent_turn(agent, turn, budget);
  EXPECT_EQ(answer.actions["move"].number(0), 0.0);
  EXPECT_EQ(answer.actions["move"].number(1), 2.5);
  EXPECT_EQ(answer.abandoned, std::vector<std::uint32_t>{1});
}

TEST(Testing, ATurnBeforeAgentInitIsRefused) {
  Mover agent;
  EXPECT_THROW(testing::agent_turn(agent, {}), UsageError);
}

class World : public Environment {
 public:
  TaskSpec env_init(std::uint32_t) override { return two_slots(); }
  void env_start(const Cells&, Begun&) override {}
  void env_step(const ChosenActions&, Span<const std::uint32_t>, Earned&) override {}
  std::string env_message(const std::string&) override { return std::to_string(spec().slots); }
};

TEST(Testing, AnEnvironmentHasItsSpecWithTheSlotsThatArePlayed) {
  World world;
  EXPECT_EQ(testing::env_init(world, 3).slots, 3U);
  EXPECT_EQ(world.env_message(""), "3");
}

}  // namespace
}  // namespace reglue
