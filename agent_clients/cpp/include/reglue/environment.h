/// \file
/// The environment's side of RL-Glue, over slots. Derive from Environment and write `env_init`,
/// `env_start` and `env_step`, and the optional routines that its traits promise.
///
///     void env_step(const reglue::ChosenActions& actions, reglue::Span<const std::uint32_t> slots,
///                   reglue::Earned& earned) override {
///       const auto push = actions["action"].as<std::int64_t>();
///       for (std::size_t row = 0; row < slots.size(); ++row) {
///         World& world = worlds_[slots[row]];
///         earned.rewards[row] = world.step(push[row]);
///         earned.observations["position"].set(row, 0, world.position());
///         if (world.is_over()) earned.flags[row] = reglue::Terminated;
///       }
///     }
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reglue/episode.h"
#include "reglue/export.h"
#include "reglue/options.h"
#include "reglue/spec.h"
#include "reglue/turn.h"

namespace reglue {

/// A task that can be played.
struct Task {
  std::string name;  ///< unique
  std::uint32_t variants = 1;  ///< goals, configurations; at least 1
};

/// What an environment tells the glue.
struct EnvironmentTraits {
  std::string name = "environment";  ///< for people; at most 200 characters
  std::uint32_t max_slots = 0;  ///< most slots that it plays at once; 0: any number
  std::vector<Task> tasks{{"task", 1}};  ///< at least one; the first is what RL_start plays
  bool restores = false;  ///< true if it has env_get_state() and env_set_state()
  bool portable = false;  ///< true if a state may be set in another process of it
  bool seeds = false;  ///< true if it has env_get_random_seed() and env_set_random_seed()
  bool standardizes = false;  ///< true if it has env_standardize_randomness()
  bool tells_success = true;  ///< false if it never reports success: its score is the return
  bool whole_turns = false;  ///< true if a step may move every slot, not those alone that it names
  bool repeatable = true;  ///< false if its cells do not decide its episodes
};

/// The episode to play. The cell and the actions decide every bit, whatever was played before
/// and in whichever slot: all random numbers follow from `seed` and `repeat`.
struct Cell {
  std::string_view task;
  std::uint32_t variant = 0;  ///< 0 to Task.variants - 1
  std::uint64_t seed = 0;  ///< 0 to 2^63 - 1
  std::uint64_t repeat = 0;
  Phase phase = Phase::Train;  ///< Evaluate ends at the first success
  std::uint64_t steps = 0;  ///< of the run before this episode; 0 if runs are not counted in steps
};

/// Episodes that begin: their slots and, for each, its cell.
struct Cells {
  Span<const std::uint32_t> slots;
  Span<const Cell> cells;
  /// How many episodes begin.
  std::size_t size() const { return slots.size(); }
};

/// What env_start() fills in; rows in the order of its slots, zeros until written.
struct Begun {
  ShownObservations observations;
  std::map<std::uint32_t, std::string>& faults;  ///< slot -> what failed there: its episode is void
};

/// What env_step() fills in; rows likewise.
struct Earned {
  Span<double> rewards;  ///< of the actions, task units, unclipped, finite
  Span<std::uint8_t> flags;  ///< bits of EpisodeFlag
  ShownObservations observations;
  std::map<std::uint32_t, std::string>& faults;
};

/// Arguments are valid until a routine returns. If env_start() or env_step() throws, all slots of
/// the exchange have failed. If another routine throws RoutineRefused (OutOfOrder, UnknownKey,
/// NotSupported, OutOfDomain), the glue gets the refusal, and nothing must have changed; any other
/// exception ends the session.
class REGLUE_API Environment {
 public:
  virtual ~Environment() = default;

  /// What the environment can do; the session reads it when it connects and before each env_init().
  virtual EnvironmentTraits traits() const { return {}; }

  /// Begin anew; returns what there is to play. No slot has an episode then, and randomness is
  /// not standardized. TaskSpec.slots is filled in for you.
  virtual TaskSpec env_init(std::uint32_t slots) = 0;

  /// Begin an episode in each slot; an episode in play there ends.
  virtual void env_start(const Cells& cells, Begun& begun) = 0;

  /// Take one step in each of `slots`; row i of the actions is of slots[i]. Clip
  /// actions outside a Box.
  virtual void env_step(const ChosenActions& actions, Span<const std::uint32_t> slots,
                        Earned& earned) = 0;

  /// The slot's whole state during an episode, with its random generators; opaque to others.
  /// Throws OutOfOrder outside episodes.
  virtual std::string env_get_state(std::uint32_t slot);

  /// Continue from `state`, to the bit. Throws UnknownKey if this environment did not give it.
  virtual void env_set_state(std::uint32_t slot, const std::string& state);

  /// The state of the slot's random generators. Throws OutOfOrder outside episodes.
  virtual std::string env_get_random_seed(std::uint32_t slot);

  /// Continue the slot's random numbers from `seed`. Throws UnknownKey if it did not give it.
  virtual void env_set_random_seed(std::uint32_t slot, const std::string& seed);

  /// From now on the n-th start (n = 0, 1, …) draws from `reglue::Rng(seed, n)`.
  virtual void env_standardize_randomness(std::uint64_t seed);

  /// Answer a message from the benchmark.
  virtual std::string env_message(const std::string& message);

  /// Release what env_init() took.
  virtual void env_cleanup();

 protected:
  /// The task, from env_init() on, with the slots that are played.
  const TaskSpec& spec() const { return spec_; }

 private:
  friend class EnvironmentCalls;
  TaskSpec spec_;
};

/// Plays a session until the glue's farewell; returns its text. Throws as connect(Agent&, Options).
REGLUE_API std::string connect(Environment& environment, Options options = {});

/// connect(Environment&, Options) for main(), as run_agent().
REGLUE_API int run_environment(Environment& environment, int argc, char** argv,
                               Options options = {});

}  // namespace reglue
