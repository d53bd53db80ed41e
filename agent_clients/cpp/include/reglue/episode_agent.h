/// \file
/// An agent that is written for one episode: slots are handled here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "reglue/agent.h"

namespace reglue {

/// An agent's part in one episode, from its start to its end. What it remembers are its fields.
class AgentEpisode {
 public:
  virtual ~AgentEpisode() = default;

  /// Choose the first action. Both have one row, number 0.
  virtual void start(const Observations& observation, Actions& action) = 0;

  /// Choose the next action; `reward` is of the one before, NaN where it is withheld.
  virtual void step(double reward, const Observations& observation, Actions& action) = 0;

  /// Take the last reward and observation, and how it ended. Not called for an episode that was
  /// abandoned, or that the glue did not end.
  virtual void end(double, const Observations&, EndKind) {}
};

/// Derive from it and write new_episode(). Fields of the agent are what all episodes share, such
/// as what it learned.
class EpisodeAgent : public Agent {
 public:
  /// Returns what plays the episode that begins; `seed` is for the agent's random numbers in it.
  virtual std::unique_ptr<AgentEpisode> new_episode(std::uint64_t seed) = 0;

  void agent_start(const Observations& observations, const Starts& starts, Actions& actions) final {
    for (std::size_t row = 0; row < starts.size(); ++row) {
      auto& episode = episodes_[starts.slots[row]] = new_episode(starts.seeds[row]);
      Actions action = actions.part(row, 1);
      episode->start(observations.part(row, 1), action);
    }
  }

  void agent_step(Rewards rewards, const Observations& observations, const Steps& steps,
                  Actions& actions) final {
    for (std::size_t row = 0; row < steps.size(); ++row) {
      Actions action = actions.part(row, 1);
      episode_in(steps.slots[row]).step(rewards[row], observations.part(row, 1), action);
    }
  }

  void agent_end(Rewards rewards, const Observations& observations, const Ends& ends) final {
    for (std::size_t row = 0; row < ends.size(); ++row) {
      episode_in(ends.slots[row]).end(rewards[row], observations.part(row, 1), ends.kinds[row]);
      episodes_.erase(ends.slots[row]);
    }
  }

 private:
  /// Throws UsageError if none has started there.
  AgentEpisode& episode_in(std::uint32_t slot) const {
    const auto episode = episodes_.find(slot);
    if (episode != episodes_.end()) return *episode->second;
    throw UsageError("got a step or an end in slot " + std::to_string(slot) +
                     ", wanted a start there first");
  }

  std::unordered_map<std::uint32_t, std::unique_ptr<AgentEpisode>> episodes_;  // by slot
};

}  // namespace reglue
