// Meta-World's reach, known by its one-hot: the hand goes straight for the goal, or for the middle
// of its workspace if the goal is hidden. In every other task it does not move.
//
//   reglue bench MT1:reach-v3 --agent-cmd build/cpp/examples/reach_agent
//   reglue bench MT10 --agent-cmd build/cpp/examples/reach_agent
#include <algorithm>
#include <array>

#include "reglue/reglue.h"

class Reach : public reglue::Agent {
 public:
  reglue::AgentTraits traits() const override {
    reglue::AgentTraits traits;
    traits.adapts = true;  // it learns nothing, but meta-learning benchmarks may judge it
    return traits;
  }

  void agent_start(const reglue::Observations& observations, const reglue::Starts&,
                   reglue::Actions& actions) override {
    act(observations, actions);
  }

  void agent_step(reglue::Rewards, const reglue::Observations& observations, const reglue::Steps&,
                  reglue::Actions& actions) override {
    act(observations, actions);
  }

 private:
  static constexpr std::size_t kGoal = 36, kOneHot = 39;  // where they begin; the hand is at 0
  static constexpr double kGain = 10.0;
  static constexpr std::array<double, 3> kMiddle = {0.0, 0.6865, 0.32375};  // metres

  static void act(const reglue::Observations& observations, const reglue::Actions& actions) {
    const auto& seen = observations[0];
    for (std::size_t row = 0; row < seen.rows(); ++row) {
      const bool is_reach = seen.spec().size() == kOneHot || seen.number(row, kOneHot) == 1.0;
      bool has_goal = false;  // a goal that is hidden is zeros
      for (std::size_t axis = 0; axis < 3; ++axis)
        has_goal |= seen.number(row, kGoal + axis) != 0.0;
      for (std::size_t axis = 0; is_reach && axis < 3; ++axis) {
        const double goal = has_goal ? seen.number(row, kGoal + axis) : kMiddle[axis];
        const double way = goal - seen.number(row, axis);
        actions[0].set(row, axis, std::clamp(kGain * way, -1.0, 1.0));
      }
    }
  }
};

int main(int argc, char** argv) {
  Reach agent;
  return reglue::run_agent(agent, argc, argv);
}
