// Acts at random: the floor that every agent should beat. Each episode draws from its
// start seed alone, so that its actions are the same in whatever slot or process it is played.
//
//   reglue bench MT1:reach-v3 --agent-cmd PROGRAM
//
// Where an observation `action_mask` shows which actions are legal, it draws one of those.
#include <algorithm>
#include <memory>
#include <vector>

#include "reglue/reglue.h"

class RandomEpisode : public reglue::AgentEpisode {
 public:
  explicit RandomEpisode(std::uint64_t seed) : rng_(seed) {}

  void start(const reglue::Observations& seen, reglue::Actions& action) override {
    act(seen, action);
  }

  void step(double, const reglue::Observations& seen, reglue::Actions& action) override {
    act(seen, action);
  }

 private:
  void act(const reglue::Observations& seen, const reglue::Actions& action) {
    legal_ = mask(seen, action);
    for (const auto& tensor : action) {
      for (std::size_t i = 0; i < tensor.spec().size(); ++i)
        tensor.set(0, i, draw(tensor.spec(), i));
    }
  }

  // Whether each choice of the only action is legal; empty if there is no mask.
  static std::vector<bool> mask(const reglue::Observations& seen, const reglue::Actions& action) {
    std::vector<bool> legal;
    if (action.size() != 1) return legal;
    const reglue::TensorSpec& chosen = action[0].spec();
    std::uint64_t choices = 0;
    if (const auto* discrete = std::get_if<reglue::Discrete>(&chosen.domain)) {
      choices = chosen.size() == 1 ? discrete->n : 0;
    } else if (const auto* many = std::get_if<reglue::MultiDiscrete>(&chosen.domain)) {
      for (const std::uint64_t n : many->n) choices += n;
    }
    for (const auto& tensor : seen) {
      const reglue::TensorSpec& spec = tensor.spec();
      if (spec.name != "action_mask" || spec.shape.size() != 1 || spec.size() != choices ||
          spec.row_bytes() != choices) {
        continue;
      }
      for (std::size_t i = 0; i < choices; ++i) legal.push_back(tensor.number(0, i) != 0);
    }
    return legal;
  }

  // A number below n; with a mask, one of the next n choices that are legal.
  std::uint64_t below(std::uint64_t n) {
    if (legal_.empty()) return rng_.below(n);
    const auto end = legal_.begin() + static_cast<std::ptrdiff_t>(n);
    std::vector<std::uint64_t> places;
    for (auto it = legal_.begin(); it != end; ++it) {
      if (*it) places.push_back(static_cast<std::uint64_t>(it - legal_.begin()));
    }
    legal_.erase(legal_.begin(), end);
    return places.empty() ? rng_.below(n) : places[rng_.below(places.size())];
  }

  double draw(const reglue::TensorSpec& spec, std::size_t element) {
    if (const auto* discrete = std::get_if<reglue::Discrete>(&spec.domain)) {
      return static_cast<double>(discrete->start) + static_cast<double>(below(discrete->n));
    }
    if (const auto* many = std::get_if<reglue::MultiDiscrete>(&spec.domain)) {
      return static_cast<double>(below(many->n[element]));
    }
    if (std::holds_alternative<reglue::MultiBinary>(spec.domain)) {
      return static_cast<double>(rng_.below(2));
    }
    const double low = std::max(spec.low(element), -1.0), high = std::min(spec.high(element), 1.0);
    return rng_.uniform(low, high);
  }

  reglue::Rng rng_;
  std::vector<bool> legal_;  // choices of the elements that are still to draw
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
