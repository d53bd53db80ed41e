// Acts at random: the floor that every agent should beat. Each episode draws from its
// start seed alone, so that its actions are the same in whatever slot or process it is played.
//
//   reglue bench MT1:reach-v3 --agent-cmd PROGRAM
#include <algorithm>
#include <memory>

#include "reglue/reglue.h"

class RandomEpisode : public reglue::AgentEpisode {
 public:
  explicit RandomEpisode(std::uint64_t seed) : rng_(seed) {}

  void start(const reglue::Observations&, reglue::Actions& action) override { act(action); }

  void step(double, const reglue::Observations&, reglue::Actions& action) override { act(action); }

 private:
  void act(const reglue::Actions& action) {
    for (const auto& tensor : action) {
      for (std::size_t i = 0; i < tensor.spec().size(); ++i)
        tensor.set(0, i, draw(tensor.spec(), i));
    }
  }

  double draw(const reglue::TensorSpec& spec, std::size_t element) {
    if (const auto* discrete = std::get_if<reglue::Discrete>(&spec.domain)) {
      return static_cast<double>(discrete->start) + static_cast<double>(rng_.below(discrete->n));
    }
    if (const auto* many = std::get_if<reglue::MultiDiscrete>(&spec.domain)) {
      return static_cast<double>(rng_.below(many->n[element]));
    }
    if (std::holds_alternative<reglue::MultiBinary>(spec.domain)) {
      return static_cast<double>(rng_.below(2));
    }
    const double low = std::max(spec.low(element), -1.0), high = std::min(spec.high(element), 1.0);
    return rng_.uniform(low, high);
  }

  reglue::Rng rng_;
};

class Random : public reglue::EpisodeAgent {
 public:
  reglue::AgentTraits traits() const override {
    reglue::AgentTraits traits = reglue::EpisodeAgent::traits();
    traits.adapts = true;  // it learns nothing, but meta-learning benchmarks may judge it
    return traits;
  }

  std::unique_ptr<reglue::AgentEpisode> new_episode(std::uint64_t seed) override {
    return std::make_unique<RandomEpisode>(seed);
  }
};

int main(int argc, char** argv) {
  Random agent;
  return reglue::run_agent(agent, argc, argv);
}
