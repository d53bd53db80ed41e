/// \file
/// A benchmark program's end of a session: RL-Glue's routines, over slots.
///
///     reglue::Experiment rl;
///     rl.rl_init();
///     rl.rl_episode({.max_steps = 10'000});
///     std::cout << rl.rl_num_steps() << " " << rl.rl_return() << "\n";
///     rl.rl_cleanup();
///
/// Source: the RL-Glue concepts page (1.0) and Tanner & White 2009, "RL-Glue: Language-Independent
/// Software for Reinforcement-Learning Experiments", JMLR 10 (3.0); where they differ, each form
/// has a name of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reglue/environment.h"
#include "reglue/episode.h"
#include "reglue/export.h"
#include "reglue/options.h"
#include "reglue/spec.h"
#include "reglue/turn.h"

namespace reglue {

/// Numbers of slots; an empty list means all.
using Slots = std::vector<std::uint32_t>;

/// Where a start begins episodes, and what the slots play from then on.
///
/// The agent does not learn of tasks and variants, and keeps what it knows; a freeze goes on.
struct StartOptions {
  Slots slots = {};  ///< no episode may be live there if a task or a variant is named
  std::string task = {};  ///< a name of rl_tasks(); empty: the task that each slot plays already
  std::optional<std::uint32_t> variant = {};  ///< of the task; none: its first, if a task is named
};

/// As StartOptions, and how long the episodes are at most.
struct EpisodeOptions {
  std::uint64_t max_steps = 0;  ///< the start counts as the first; 0: no limit
  Slots slots = {};  ///< as of StartOptions
  std::string task = {};  ///< likewise
  std::optional<std::uint32_t> variant = {};  ///< likewise
};

/// First observations, and the actions that the agent chose; one row a slot. It and its copies
/// own what they view.
struct Started {
  Span<const std::uint32_t> slots;
  Observations observations;
  ChosenActions actions;  ///< no tensors after rl_env_start()
  std::shared_ptr<const void> owner;
};

/// What a step earned; one row a slot. It and its copies own what they view.
struct Stepped {
  Span<const std::uint32_t> slots;
  Rewards rewards;  ///< task units
  Observations observations;
  Span<const std::uint8_t> flags;  ///< bits of EpisodeFlag
  ChosenActions actions;  ///< zeros where the episode is over; no tensors after rl_env_step()
  std::shared_ptr<const void> owner;
};

/// What an agent chose in a half step; one row a slot. It owns what it views.
struct Acted {
  ChosenActions actions;
  std::shared_ptr<const void> owner;
};

/// Rows to fill in for half steps, zeros at first. Copies share the rows.
class REGLUE_API FilledRows {
 public:
  /// `rows` rows of each of `tensors`, which are a part of `spec`.
  FilledRows(std::shared_ptr<const TaskSpec> spec, const std::vector<TensorSpec>& tensors,
             std::size_t rows);

  /// To write: one tensor by place or by name.
  template <class Key>
  const BasicRows<std::byte>& operator[](const Key& key) const {
    return written_[key];
  }
  /// All of them, to write.
  const BasicTensors<std::byte>& tensors() const { return written_; }

  /// To be read, as routines take them.
  operator const BasicTensors<const std::byte>&() const { return view_; }  // NOLINT: implicit

 private:
  std::shared_ptr<const TaskSpec> spec_;
  std::shared_ptr<std::byte[]> bytes_;
  BasicTensors<std::byte> written_;
  BasicTensors<const std::byte> view_;
};

/// An episode as RL-Glue 1.0's RL_episode returns it: o0, a0, r1, o1, a1, …, rT, without the
/// terminal observation. An episode that was cut off ends with the observation and action after
/// the last reward.
struct Trajectory {
  FilledRows observations;  ///< rows o0, o1, …: T of them if it ended, else T + 1
  FilledRows actions;  ///< likewise
  std::vector<double> rewards;  ///< r1, …, rT
  std::uint8_t flags = 0;  ///< Terminated, Truncated or neither
};

/// Calls RL-Glue's routines at a glue. They wait until an agent and an environment are there.
/// The session reconnects when a connection breaks, as long as the glue allows; every routine is
/// carried out once. For one thread at a time.
///
/// A refused routine changes nothing. It throws OutOfOrder (another routine comes first),
/// NotSupported, UnknownKey, OutOfDomain (an unknown slot, an invalid argument) or
/// RoutineRefused (rows that do not fit the spec). AgentFault and EnvironmentFault say who
/// failed; the slots' episodes are over then. SessionLost: the glue is gone, or has ended the
/// session. Stopped: Options::stop has become true.
class REGLUE_API Experiment {
 public:
  /// Joins. Throws Unreachable, Refused (WrongToken, WrongVersion, WrongTls, Busy), UsageError.
  explicit Experiment(const Options& options = {});
  /// Leaves, as close().
  ~Experiment();
  Experiment(Experiment&&) noexcept;
  /// Takes over another session; leaves the present one, as close() does.
  Experiment& operator=(Experiment&&) noexcept;

  /// Leaves; the glue lets the agent and the environment go.
  void close();

  /// How long a routine may take, including RL_init's wait for agent and environment; 24 hours
  /// by default. A longer one throws SessionLost. Throws UsageError for less than 1 ms.
  void set_timeout(std::chrono::milliseconds timeout);

  /// RL_init: env_init, then agent_init. Resets the counts. All random numbers follow from
  /// `seed`, 0 to 2^63 - 1. `task` and `variant` say what to play; an empty `task` is the
  /// environment's first. The spec is valid until the next rl_init().
  const TaskSpec& rl_init(std::uint32_t slots = 1, std::uint64_t seed = 0,
                          const std::string& task = "", std::uint32_t variant = 0);

  /// RL_tasks: what the environment can play, since rl_init().
  std::vector<Task> rl_tasks();

  /// RL_start: first observations and actions. A live episode is cut off.
  Started rl_start(const StartOptions& options = {});

  /// RL_step in `slots`, by default in all live ones. Plays the agent's pending action.
  Stepped rl_step(const Slots& slots = {});

  /// RL_episode of 3.0: one episode in each slot; true if all ended by themselves. No agent_end
  /// follows a cut-off episode.
  bool rl_episode(const EpisodeOptions& options = {});

  /// RL_iterate_goal: each slot's next start plays the next variant of its task, after the last
  /// one the first. A slot that has not played since rl_init() starts with what rl_init() chose.
  void rl_iterate_goal(const Slots& slots = {});

  /// RL_episode of 1.0: at most `steps` steps of the environment, and all of them.
  Trajectory rl_episode_trajectory(std::uint64_t steps, std::uint32_t slot = 0);

  /// RL_return: the sum of rewards of the present or last episode. Discount in the environment.
  double rl_return(std::uint32_t slot = 0);

  /// RL_num_steps of 3.0: actions that the agent chose in the present or last episode.
  std::uint64_t rl_num_steps(std::uint32_t slot = 0);

  /// RL_num_episodes: episodes that ended by themselves since RL_init.
  std::uint64_t rl_num_episodes(std::uint32_t slot = 0);

  /// RL_success: whether some step of the present or last episode was a success.
  bool rl_success(std::uint32_t slot = 0);

  /// RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; rl_init() comes next.
  void rl_cleanup();

  /// RL_freeze: agent_freeze. What follows is judged, until rl_init() or rl_adapt_begin().
  void rl_freeze();

  /// RL_adapt_begin: adapt_begin. The agent returns to what it was before adaptation; it adapts in
  /// what follows, until rl_freeze(). Throws NotSupported if it cannot. No episode may be live: it
  /// has ended, or was cut off by `max_steps`.
  void rl_adapt_begin();
  /// RL_adapt: adapt. An adaptation step is over: the agent learns from its episodes, at least
  /// one, since rl_adapt_begin() or the last rl_adapt(). None may be live.
  void rl_adapt();

  /// RL_standardize_randomness: from the next start on, the environment's random numbers in the
  /// n-th start are those of Rng(seed, n), on every platform. `seed` is 0 to 2^63 - 1.
  void rl_standardize_randomness(std::uint64_t seed = 0);

  /// RL_get_state, during an episode: a key that names the environment's state.
  std::string rl_get_state(std::uint32_t slot = 0);
  /// RL_set_state: the environment continues from there to the bit. The agent's next action and
  /// the counts do not change.
  void rl_set_state(const std::string& key, std::uint32_t slot = 0);

  /// RL_get_random_seed: a key that names the state of the environment's random generators.
  std::string rl_get_random_seed(std::uint32_t slot = 0);
  /// RL_set_random_seed: the environment's random numbers continue from there.
  void rl_set_random_seed(const std::string& key, std::uint32_t slot = 0);

  /// RL_agent_message: the agent's answer; legal at any time.
  std::string rl_agent_message(const std::string& text);
  /// RL_env_message: the environment's answer; legal at any time.
  std::string rl_env_message(const std::string& text);

  // The half steps, for programs that stand between the two. Rows are as `slots`.

  /// Rows of zeros to fill in, one of each action tensor, after rl_init().
  FilledRows new_actions(std::size_t rows) const;
  /// Likewise of each observation tensor.
  FilledRows new_observations(std::size_t rows) const;

  /// RL_env_start: env_start alone; no actions. The agent does not notice.
  Started rl_env_start(const StartOptions& options = {});
  /// RL_env_step: env_step alone, with these actions; no next ones.
  Stepped rl_env_step(const ChosenActions& actions, const Slots& slots = {0});
  /// RL_agent_start: agent_start alone; the actions are what rl_step() plays next.
  Acted rl_agent_start(const Observations& observations, const Slots& slots = {0});
  /// RL_agent_step: agent_step alone, likewise.
  Acted rl_agent_step(Rewards rewards, const Observations& observations, const Slots& slots = {0});
  /// RL_agent_end: agent_end alone, with the last observations.
  void rl_agent_end(Rewards rewards, const Observations& observations, const Slots& slots = {0},
                    bool truncated = false);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reglue
