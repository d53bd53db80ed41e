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

struct Episode {
  reglue::Rng rng;
  Tiles tiles;
  std::size_t action;
  std::vector<Numbers> traces;  // by action: how much a tile is to blame
};

}  // namespace

class Sarsa : public reglue::Agent {
 public:
  void agent_init(const reglue::TaskSpec& spec) override {
    const auto* discrete = std::get_if<reglue::Discrete>(&spec.actions[0].domain);
    if (!discrete || spec.actions.size() > 1 || spec.observations.size() > 1) {
      throw reglue::UsageError("Sarsa needs one observation and one discrete action");
    }
    first_ = static_cast<double>(discrete->start);
    weights_.assign(discrete->n, {});
    tilings_ = Tilings(spec.observations[0]);
    episodes_.clear();
    is_frozen_ = false;
  }

  void agent_start(const reglue::Observations& observations, const reglue::Starts& starts,
                   reglue::Actions& actions) override {
    for (std::size_t row = 0; row < starts.size(); ++row) {
      Episode episode{reglue::Rng(starts.seeds[row]), tiles_of(observations, row), 0,
                      std::vector<Numbers>(weights_.size())};
      episode.action = choose(values(episode.tiles), episode.rng);
      actions[0].set(row, 0, first_ + static_cast<double>(episode.action));
      episodes_.insert_or_assign(starts.slots[row], std::move(episode));
    }
  }

  void agent_step(reglue::Rewards rewards, const reglue::Observations& observations,
                  const reglue::Steps& steps, reglue::Actions& actions) override {
    for (std::size_t row = 0; row < steps.size(); ++row) {
      const std::size_t action =
          go_on(episodes_.at(steps.slots[row]), rewards[row], tiles_of(observations, row));
      actions[0].set(row, 0, first_ + static_cast<double>(action));
    }
  }

  void agent_end(reglue::Rewards rewards, const reglue::Observations& observations,
                 const reglue::Ends& ends) override {
    for (std::size_t row = 0; row < ends.size(); ++row) {
      Episode& episode = episodes_.at(ends.slots[row]);
      if (ends.kinds[row] == reglue::EndKind::Truncated) {
        go_on(episode, rewards[row], tiles_of(observations, row));
      } else if (ends.kinds[row] == reglue::EndKind::Terminated && !is_frozen_) {
        learn(episode, rewards[row]);
      }
      episodes_.erase(ends.slots[row]);
    }
  }

  void agent_freeze() override { is_frozen_ = true; }

 private:
  Tiles tiles_of(const reglue::Observations& observations, std::size_t row) const {
    return tilings_.active(observations[0], row);
  }

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

  std::size_t go_on(Episode& episode, double reward, Tiles tiles) {
    const std::vector<double> worth = values(tiles);
    const std::size_t action = choose(worth, episode.rng);
    if (!is_frozen_) learn(episode, reward + spec().discount * worth[action]);
    episode.tiles = std::move(tiles);
    return episode.action = action;
  }

  /// Moves the value of the last action, and of those before it, towards `target`.
  void learn(Episode& episode, double target) {
    const double error = target - value(weights_[episode.action], episode.tiles);
    for (const std::size_t tile : episode.tiles) episode.traces[episode.action][tile] = 1.0;
    const double step = kAlpha / kTilings * error, fade = kLambda * spec().discount;
    for (std::size_t action = 0; action < weights_.size(); ++action) {
      Numbers& traces = episode.traces[action];
      for (auto trace = traces.begin(); trace != traces.end();) {
        weights_[action][trace->first] += step * trace->second;
        trace->second *= fade;
        trace = trace->second < kFaintest ? traces.erase(trace) : std::next(trace);
      }
    }
  }

  double first_ = 0.0;  // the smallest action
  std::vector<Numbers> weights_;  // by action
  Tilings tilings_;
  std::unordered_map<std::uint32_t, Episode> episodes_;  // by slot
  bool is_frozen_ = false;
};

int main(int argc, char** argv) {
  Sarsa agent;
  return reglue::run_agent(agent, argc, argv);
}
