// Acts at random: the floor that every agent should beat. Each episode draws from its
// start seed alone, so that its actions are the same in whatever slot or process it is played.
//
//   reglue bench MT1:reach-v3 --agent-cmd build/cpp/examples/random_agent
#include <cmath>
#include <unordered_map>

#include "reglue/reglue.h"

class Random : public reglue::Agent {
 public:
  void agent_start(const reglue::Observations&, const reglue::Starts& starts,
                   reglue::Actions& actions) override {
    for (std::size_t row = 0; row < starts.size(); ++row) {
      const auto rng = rng_.insert_or_assign(starts.slots[row], reglue::Rng(starts.seeds[row]));
      act(rng.first->second, actions, row);
    }
  }

  void agent_step(reglue::Rewards, const reglue::Observations&, const reglue::Steps& steps,
                  reglue::Actions& actions) override {
    for (std::size_t row = 0; row < steps.size(); ++row) {
      act(rng_.at(steps.slots[row]), actions, row);
    }
  }

 private:
  static void act(reglue::Rng& rng, const reglue::Actions& actions, std::size_t row) {
    for (const auto& action : actions) {
      for (std::size_t i = 0; i < action.spec().size(); ++i) {
        action.set(row, i, draw(action.spec(), i, rng));
      }
    }
  }

  static double draw(const reglue::TensorSpec& spec, std::size_t element, reglue::Rng& rng) {
    if (const auto* discrete = std::get_if<reglue::Discrete>(&spec.domain)) {
      return static_cast<double>(discrete->start) + static_cast<double>(rng.below(discrete->n));
    }
    if (const auto* many = std::get_if<reglue::MultiDiscrete>(&spec.domain)) {
      return static_cast<double>(rng.below(many->n[element]));
    }
    if (std::holds_alternative<reglue::MultiBinary>(spec.domain)) {
      return static_cast<double>(rng.below(2));
    }
    const double low = std::max(spec.low(element), -1.0), high = std::min(spec.high(element), 1.0);
    return rng.uniform(low, high);
  }

  std::unordered_map<std::uint32_t, reglue::Rng> rng_;  // by slot
};

int main(int argc, char** argv) {
  Random agent;
  return reglue::run_agent(agent, argc, argv);
}
