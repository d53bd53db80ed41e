#include "reglue/episode_agent.h"

#include <gtest/gtest.h>

#include <vector>

#include "reglue/testing.h"

namespace reglue {
namespace {

class Nothing : public AgentEpisode {
 public:
  void start(const Observations&, Actions&) override {}
  void step(double, const Observations&, Actions&) override {}
};

class Forgetful : public EpisodeAgent {
 public:
  std::unique_ptr<AgentEpisode> new_episode(std::uint64_t) override {
    return std::make_unique<Nothing>();
  }
};

TEST(EpisodeAgent, SaysWhichEpisodeHasNotStarted) {
  TaskSpec spec;
  spec.observations = {{"seen", Dtype::Float64, {}, Box{}}};
  spec.actions = {{"done", Dtype::Float64, {}, Box{}}};
  Forgetful agent;
  testing::agent_init(agent, spec);
  const std::vector<std::uint32_t> slots{0};
  const std::vector<EndKind> kinds{EndKind::Terminated};
  const std::vector<std::uint8_t> flags{0};
  const std::vector<double> rewards{1.0};
  const FilledRows seen = testing::observations(spec, 1);
  Turn turn;
  turn.rewards = rewards;
  turn.observations = seen;
  turn.steps = {slots, flags};
  EXPECT_THROW(testing::agent_turn(agent, turn), UsageError);
  turn.steps = {};
  turn.ends = {slots, kinds};
  EXPECT_THROW(testing::agent_turn(agent, turn), UsageError);
}

}  // namespace
}  // namespace reglue
