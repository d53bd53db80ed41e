// The goals that an agent has seen, after each call.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agents/agent_calls.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

using Slots = std::vector<std::uint32_t>;

class Reader : public Agent {
 public:
  using Agent::get_goal;

  std::vector<double> goal(std::uint32_t slot, const char* name = "desired_goal") const {
    const auto numbers = get_goal(slot)[name].row<double>(0);
    return {numbers.begin(), numbers.end()};
  }
};

Options nowhere() {
  Options options;
  options.address = "127.0.0.1:1";
  return options;
}

TensorSpec tensor(std::string name, std::vector<std::uint32_t> shape) {
  return {std::move(name), Dtype::Float64, std::move(shape), Box{}};
}

class GoalsTest : public ::testing::Test {
 protected:
  GoalsTest() { init({tensor("observation", {3}), tensor("desired_goal", {2})}, 3); }

  void init(std::vector<TensorSpec> observations, std::uint32_t slots) {
    spec.observations = std::move(observations);
    spec.actions = {tensor("action", {1})};
    spec.slots = slots;
    AgentCall call;
    call.kind = AgentCall::Kind::Init;
    call.spec = &spec;
    AgentCalls::take(agent, call);
  }

  /// A turn in which row i of every tensor is all `numbers[i]`.
  void turn(const Slots& ends, const Slots& steps, const Slots& starts,
            const std::vector<double>& numbers) {
    std::vector<std::vector<double>> elements;
    std::vector<Observations::Rows> tensors;
    for (const TensorSpec& each : spec.observations) {
      elements.emplace_back();
      for (const double number : numbers) {
        elements.back().insert(elements.back().end(), each.size(), number);
      }
      const auto* bytes = reinterpret_cast<const std::byte*>(elements.back().data());
      tensors.emplace_back(each, bytes, numbers.size());
    }
    AgentCall call;
    call.kind = AgentCall::Kind::Turn;
    call.turn.ends.slots = ends;
    call.turn.steps.slots = steps;
    call.turn.starts.slots = starts;
    call.turn.observations = {std::move(tensors), numbers.size()};
    AgentCalls::take(agent, call);
  }

  std::string why_not(std::uint32_t slot) const {
    try {
      agent.get_goal(slot);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  TaskSpec spec;
  Reader agent;
  AgentSession session{nowhere(), {}};  // that is never connected
  AgentCalls calls{agent, session};
};

TEST_F(GoalsTest, TakesNoMemoryForSlotsThatItHasNotSeen) {
  init({tensor("desired_goal", {1 << 20})}, 4'000'000'000);
  EXPECT_THROW(agent.goal(3'999'999'999), UsageError);
}

TEST_F(GoalsTest, TheNewestOfASlotIsReturned) {
  turn({}, {}, {2, 0}, {1, 2});
  EXPECT_EQ(agent.goal(2), (std::vector<double>{1, 1}));
  turn({}, {2}, {}, {3});
  EXPECT_EQ(agent.goal(2), (std::vector<double>{3, 3}));
  EXPECT_EQ(agent.goal(0), (std::vector<double>{2, 2}));  // not in that turn
}

TEST_F(GoalsTest, IfASlotEndsAndStartsTheStartCounts) {
  turn({1, 2}, {0}, {1}, {1, 2, 3, 4});
  EXPECT_EQ(agent.goal(1), (std::vector<double>{4, 4}));
  EXPECT_EQ(agent.goal(0), (std::vector<double>{3, 3}));
  EXPECT_EQ(agent.goal(2), (std::vector<double>{2, 2}));  // only ends
}

TEST_F(GoalsTest, AreKnownByTheEndOfTheirNamesAndMayHaveParts) {
  init({tensor("achieved_goal", {}), tensor("state_desired_goal", {}), tensor("desired_goals", {}),
        tensor("desired_goal/kettle", {2}), tensor("desired_goal/nothing", {0})},
       2);
  turn({}, {}, {1}, {7});
  EXPECT_EQ(agent.get_goal(1).size(), 3U);
  EXPECT_EQ(agent.goal(1, "state_desired_goal"), (std::vector<double>{7}));
  EXPECT_EQ(agent.goal(1, "desired_goal/kettle"), (std::vector<double>{7, 7}));
  EXPECT_EQ(agent.goal(1, "desired_goal/nothing"), std::vector<double>{});
}

TEST_F(GoalsTest, WithoutAnyTheErrorSaysWhy) {
  turn({}, {}, {0}, {1});
  EXPECT_EQ(why_not(1), "nothing was seen in slot 1 yet; wait for its agent_start");
  EXPECT_EQ(why_not(3), "got slot 3, wanted 0 to 2");
  init({tensor("observation", {3}), tensor("door", {})}, 1);
  turn({}, {}, {0}, {1});
  EXPECT_EQ(why_not(0),
            "got a task that shows observation, door, wanted a tensor called desired_goal");
  EXPECT_THROW(Reader().get_goal(0), UsageError);  // no task yet
}

TEST_F(GoalsTest, ANewTaskForgetsThoseOfTheLastOne) {
  turn({}, {}, {0}, {1});
  init(spec.observations, 1);
  EXPECT_EQ(why_not(0), "nothing was seen in slot 0 yet; wait for its agent_start");
}

TEST_F(GoalsTest, AreCopiedWithTheAgent) {
  turn({}, {}, {0}, {1});
  const Reader copy = agent;
  turn({}, {0}, {}, {2});
  EXPECT_EQ(copy.goal(0), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace reglue
