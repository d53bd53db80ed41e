// A cart-pole that dials a glue: cart_pole [ADDRESS [TOKEN]] [--transport auto|grpc|unix]
//
// The observation is Gymnasium's: position, velocity, angle and angular velocity, in float32.
// Action 0 pushes to the left, 1 to the right. Every step earns 1; whoever balances the pole for
// 500 steps has succeeded.
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "cart_pole.h"
#include "reglue/environment.h"
#include "reglue/rng.h"

namespace cart_pole {
namespace {

constexpr char kMark[] = "reglue.cart-pole.state.1\n";

/// One slot's episode. All of its random numbers come from Rng(cell.seed, cell.repeat).
struct Episode {
  reglue::Rng rng;
  Motion motion;
  std::uint32_t steps = 0;
};

std::string to_bytes(const Episode& episode) {
  std::string bytes = kMark + episode.rng.to_bytes();
  bytes.append(reinterpret_cast<const char*>(&episode.steps), sizeof episode.steps);
  return bytes.append(reinterpret_cast<const char*>(&episode.motion), sizeof episode.motion);
}

/// Throws reglue::UnknownKey for what no episode can be in.
Episode from_bytes(const std::string& bytes) {
  const std::size_t mark = std::strlen(kMark), rng = 24, steps = sizeof Episode::steps;
  const reglue::UnknownKey unknown(std::to_string(bytes.size()) + " bytes", "a state of cart_pole");
  if (bytes.size() != mark + rng + steps + sizeof(Motion) || bytes.rfind(kMark, 0) != 0) {
    throw unknown;
  }
  Episode episode{reglue::Rng::from_bytes(bytes.substr(mark, rng)), {}};
  std::memcpy(&episode.steps, bytes.data() + mark + rng, steps);
  std::memcpy(&episode.motion, bytes.data() + mark + rng + steps, sizeof(Motion));
  const Motion& motion = episode.motion;
  for (const double number :
       {motion.position, motion.velocity, motion.angle, motion.angular_velocity}) {
    if (!std::isfinite(number)) throw unknown;
  }
  if (has_failed(motion) || episode.steps >= kHorizon) throw unknown;
  return episode;
}

void show(const Motion& motion, const reglue::ShownObservations& observations, std::size_t row) {
  const auto values = observations[0].row<float>(row);
  values[0] = static_cast<float>(motion.position);
  values[1] = static_cast<float>(motion.velocity);
  values[2] = static_cast<float>(motion.angle);
  values[3] = static_cast<float>(motion.angular_velocity);
}

class CartPole : public reglue::Environment {
 public:
  reglue::EnvironmentTraits traits() const override {
    reglue::EnvironmentTraits traits;
    traits.name = "cart-pole";
    traits.tasks = {{"cart-pole", 1}};
    traits.restores = traits.portable = traits.seeds = traits.standardizes = true;
    return traits;
  }

  reglue::TaskSpec env_init(std::uint32_t) override {
    episodes_.clear();
    is_standardized_ = false;
    const double far = 2 * kFarthest, steep = 2 * kSteepest, any = HUGE_VAL;
    reglue::TaskSpec spec;
    spec.observations = {{"observation",
                          reglue::Dtype::Float32,
                          {4},
                          reglue::Box{{-far, -any, -steep, -any}, {far, any, steep, any}}}};
    spec.actions = {{"action", reglue::Dtype::Int64, {}, reglue::Discrete{2}}};
    spec.reward_low = spec.reward_high = 1.0;
    spec.horizon = kHorizon;
    return spec;
  }

  void env_start(const reglue::Cells& cells, reglue::Begun& begun) override {
    for (std::size_t row = 0; row < cells.size(); ++row) {
      const reglue::Cell& cell = cells.cells[row];
      reglue::Rng rng =
          is_standardized_ ? reglue::Rng(seed_, starts_++) : reglue::Rng(cell.seed, cell.repeat);
      const Motion motion = begin(rng);
      episodes_.insert_or_assign(cells.slots[row], Episode{rng, motion});
      show(motion, begun.observations, row);
    }
  }

  void env_step(const reglue::ChosenActions& actions, reglue::Span<const std::uint32_t> slots,
                reglue::Earned& earned) override {
    const auto chosen = actions[0].as<std::int64_t>();
    for (std::size_t row = 0; row < slots.size(); ++row) {
      try {
        step(slots[row], chosen[row], row, earned);
      } catch (const reglue::UsageError& error) {  // the other slots play on
        earned.faults[slots[row]] = error.what();
      }
    }
  }

  std::string env_get_state(std::uint32_t slot) override {
    return to_bytes(on(slot, "env_get_state"));
  }

  void env_set_state(std::uint32_t slot, const std::string& state) override {
    episodes_.insert_or_assign(slot, from_bytes(state));
  }

  std::string env_get_random_seed(std::uint32_t slot) override {
    return on(slot, "env_get_random_seed").rng.to_bytes();
  }

  void env_set_random_seed(std::uint32_t slot, const std::string& seed) override {
    Episode& episode = on(slot, "env_set_random_seed");
    try {
      episode.rng = reglue::Rng::from_bytes(seed);
    } catch (const reglue::UsageError& error) {
      throw reglue::UnknownKey(std::to_string(seed.size()) + " bytes", error.what());
    }
  }

  void env_standardize_randomness(std::uint64_t seed) override {
    is_standardized_ = true;
    seed_ = seed;
    starts_ = 0;
  }

 private:
  void step(std::uint32_t slot, std::int64_t action, std::size_t row, reglue::Earned& earned) {
    Episode& episode = on(slot, "env_step");
    if (action != 0 && action != 1) {
      throw reglue::OutOfDomain("action " + std::to_string(action), "0 or 1");
    }
    episode.motion = pushed(episode.motion, action == 1);
    ++episode.steps;
    show(episode.motion, earned.observations, row);
    earned.rewards[row] = 1.0;
    earned.flags[row] = flags_of(episode);
    if (earned.flags[row]) episodes_.erase(slot);
  }

  static std::uint8_t flags_of(const Episode& episode) {
    if (has_failed(episode.motion)) return reglue::Terminated;
    return episode.steps == kHorizon ? reglue::Truncated | reglue::Success : 0;
  }

  Episode& on(std::uint32_t slot, const char* routine) {
    const auto episode = episodes_.find(slot);
    if (episode != episodes_.end()) return episode->second;
    throw reglue::OutOfOrder(routine + std::string(" in slot ") + std::to_string(slot),
                             "env_start there first");
  }

  std::map<std::uint32_t, Episode> episodes_;  // that are on, by slot
  bool is_standardized_ = false;               // then starts are numbered:
  std::uint64_t seed_ = 0, starts_ = 0;
};

}  // namespace
}  // namespace cart_pole

int main(int argc, char** argv) {
  cart_pole::CartPole environment;
  return reglue::run_environment(environment, argc, argv);
}
