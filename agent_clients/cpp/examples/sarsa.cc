// Sarsa(λ) with tile coding: learns to drive a car out of a valley that it is too weak for.
//
// Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition: the box on page
// 305 (section 12.7) with binary features and replacing traces, over the tilings of section
// 9.5.4. It draws the same random numbers in the same order as the Python client's example of that
// name, and scores the same to the last bit.
//
//   reglue bench online:mountain-car --agent-cmd build/cpp/examples/sarsa_agent --runs 5 --slots 1
#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <vector>

#include "reglue/reglue.h"

namespace {

constexpr double kAlpha = 0.5;  // step size of a whole state; each active tile takes its part
constexpr double kLambda = 0.9;
constexpr double kEpsilon = 0.1;    // probability of exploring
constexpr double kFaintest = 0.01;  // a trace below it would cost more than it teaches
constexpr int kTilings = 8;
constexpr int kTiles = 8;  // to a side

using Tiles = std::vector<std::size_t>;  // the one of each tiling that it lies on
using Numbers = std::unordered_map<std::size_t, double>;  // by tile, of those that were met

/// Grids over a tensor's bounds, each moved a little against the others.
class Tilings {
 public:
  Tilings() = default;
  explicit Tilings(const reglue::TensorSpec& spec) {
    for (std::size_t d = 0; d < spec.size(); ++d) {
      if (!std::isfinite(spec.low(d)) || !std::isfinite(spec.high(d))) {
        throw reglue::UsageError(spec.name + " has no bounds, and tiles need some");
      }
      lows_.push_back(spec.low(d));
      scales_.push_back(kTiles / (spec.high(d) - spec.low(d)));
    }
  }

  Tiles active(const reglue::BasicRows<const std::byte>& observation, std::size_t row) const {
    Tiles tiles(kTilings);
    for (std::size_t t = 0; t < kTilings; ++t) tiles[t] = t;
    for (std::size_t d = 0; d < lows_.size(); ++d) {
      const double place = (observation.number(row, d) - lows_[d]) * scales_[d];
      const double inside = std::clamp(place, 0.0, static_cast<double>(kTiles));
      for (std::size_t t = 0; t < kTilings; ++t) {
        const double move = static_cast<double>(t * (2 * d + 1) % kTilings) / kTilings;
        tiles[t] = tiles[t] * (kTiles + 1) + static_cast<std::size_t>(inside + move);
      }
    }
    return tiles;
  }

 private:
  std::vector<double> lows_, scales_;
};

double value(const Numbers& weights, const Tiles& tiles) {
  double sum = 0.0;
  for (const std::size_t tile : tiles) {
    const auto weight = weights.find(tile);
    sum += weight == weights.end() ? 0.0 : weight->second;
  }
  return sum;
}

}  // namespace

/// What all episodes share: one linear value function.
class Sarsa : public reglue::EpisodeAgent {
 public:
  void agent_init(const reglue::TaskSpec& spec) override {
    const auto* discrete = std::get_if<reglue::Discrete>(&spec.actions[0].domain);
    if (!discrete || spec.actions.size() > 1 || spec.observations.size() > 1) {
      throw reglue::UsageError("Sarsa needs one observation and one discrete action");
    }
    first_ = static_cast<double>(discrete->start);
    weights_.assign(discrete->n, {});
    tilings_ = Tilings(spec.observations[0]);
    is_frozen_ = false;
  }

  std::unique_ptr<reglue::AgentEpisode> new_episode(std::uint64_t seed) override {
    return std::make_unique<Episode>(*this, seed);
  }

  void agent_freeze() override { is_frozen_ = true; }

 private:
  class Episode : public reglue::AgentEpisode {
   public:
    Episode(Sarsa& sarsa, std::uint64_t seed)
        : sarsa_(sarsa), rng_(seed), traces_(sarsa.weights_.size()) {}

    void start(const reglue::Observations& observation, reglue::Actions& action) override {
      tiles_ = tiles_of(observation);
      action_ = sarsa_.choose(sarsa_.values(tiles_), rng_);
      write(action);
    }

    void step(double reward, const reglue::Observations& observation,
              reglue::Actions& action) override {
      go_on(reward, observation);
      write(action);
    }

    void end(double reward, const reglue::Observations& observation,
             reglue::EndKind kind) override {
      if (kind == reglue::EndKind::Truncated) {
        go_on(reward, observation);  // learns from what could have come
      } else if (kind == reglue::EndKind::Terminated && !sarsa_.is_frozen_) {
        learn(reward);
      }
    }

   private:
    Tiles tiles_of(const reglue::Observations& observation) const {
      return sarsa_.tilings_.active(observation[0], 0);
    }

    void write(reglue::Actions& action) const {
      action[0].set(0, 0, sarsa_.first_ + static_cast<double>(action_));
    }

    void go_on(double reward, const reglue::Observations& observation) {
      Tiles tiles = tiles_of(observation);
      const std::vector<double> worth = sarsa_.values(tiles);
      const std::size_t action = sarsa_.choose(worth, rng_);
      if (!sarsa_.is_frozen_) learn(reward + sarsa_.spec().discount * worth[action]);
      tiles_ = std::move(tiles);
      action_ = action;
    }

    /// Moves the value of the last action, and of those before it, towards `target`.
    void learn(double target) {
      const double error = target - value(sarsa_.weights_[action_], tiles_);
      for (const std::size_t tile : tiles_) traces_[action_][tile] = 1.0;
      const double step = kAlpha / kTilings * error, fade = kLambda * sarsa_.spec().discount;
      for (std::size_t action = 0; action < traces_.size(); ++action) {
        Numbers& traces = traces_[action];
        for (auto trace = traces.begin(); trace != traces.end();) {
          sarsa_.weights_[action][trace->first] += step * trace->second;
          trace->second *= fade;
          trace = trace->second < kFaintest ? traces.erase(trace) : std::next(trace);
        }
      }
    }

    Sarsa& sarsa_;
    reglue::Rng rng_;
    Tiles tiles_;
    std::size_t action_ = 0;
    std::vector<Numbers> traces_;  // by action: how much a tile is to blame
  };

  std::vector<double> values(const Tiles& tiles) const {
    std::vector<double> values;
    for (const Numbers& weights : weights_) values.push_back(value(weights, tiles));
    return values;
  }

  /// A best one, each as likely; with probability epsilon any one.
  std::size_t choose(const std::vector<double>& values, reglue::Rng& rng) const {
    if (!is_frozen_ && rng.uniform() < kEpsilon) return rng.below(values.size());
    const double best = *std::max_element(values.begin(), values.end());
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < values.size(); ++place) {
      if (values[place] == best) places.push_back(place);
    }
    return places[places.size() == 1 ? 0 : rng.below(places.size())];
  }

  double first_ = 0.0;            // the smallest action
  std::vector<Numbers> weights_;  // by action
  Tilings tilings_;
  bool is_frozen_ = false;
};

int main(int argc, char** argv) {
  Sarsa agent;
  return reglue::run_agent(agent, argc, argv);
}
