/// \file
/// The agent's side of RL-Glue, over slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reglue/export.h"
#include "reglue/goals.h"
#include "reglue/spec.h"
#include "reglue/turn.h"

namespace reglue {

/// What an agent tells the glue when it connects.
struct AgentTraits {
  std::string name;             ///< for reports, at most 200 characters; empty: the class's
  std::uint32_t max_slots = 0;  ///< most slots that it plays at once; 0: any number
  bool partial_turns = false;   ///< true if a turn may leave live slots out
  bool adapts = false;          ///< true if it answers adapt_begin and adapt
  bool episodic = true;         ///< false if it cannot handle an episode's end
};

/// Derive from it and write agent_start() and agent_step(), or turn().
class REGLUE_API Agent {
 public:
  virtual ~Agent() = default;

  /// What the agent can do; the session reads it once, before it connects.
  virtual AgentTraits traits() const { return {}; }

  /// Forget everything learned before.
  virtual void agent_init(const TaskSpec& spec);

  /// Choose the first action of each episode that begins: row i is of starts.slots[i].
  virtual void agent_start(const Observations& observations, const Starts& starts,
                           Actions& actions);

  /// Choose the next action of each episode that continues: row i is of steps.slots[i].
  virtual void agent_step(Rewards rewards, const Observations& observations, const Steps& steps,
                          Actions& actions);

  /// Take the last reward and observation of each episode that ended.
  virtual void agent_end(Rewards rewards, const Observations& observations, const Ends& ends);

  /// Stop learning and exploring: what follows is judged.
  virtual void agent_freeze();

  /// Answer a message from the benchmark.
  virtual std::string agent_message(const std::string& message);

  /// Release what agent_init() took.
  virtual void agent_cleanup();

  /// Return to the meta-trained state; a new wave of trials begins.
  virtual void adapt_begin();

  /// Learn from the episodes since adapt_begin() or the last adapt().
  virtual void adapt();

  /// Answer a whole turn, the primitive. It calls agent_end(), agent_step() and agent_start(),
  /// each if it has rows.
  virtual void turn(const Turn& turn, Actions& actions);

 protected:
  /// The task, from agent_init() on, also when the session is over. Throws UsageError before.
  const TaskSpec& spec() const;
  /// Of the present turn.
  Phase phase() const { return phase_; }
  /// What remained when the present routine was called.
  const Budget& budget() const { return budget_; }
  /// The newest goal seen in `slot`: one row of each tensor whose name is or ends in
  /// `desired_goal`, such as `state_desired_goal`; valid until the present call is answered.
  /// If an episode ends and the next starts in one turn, it is the next one's. Throws
  /// UsageError if the task shows no goal, nothing was seen in that slot yet, or there is no
  /// such slot.
  Observations get_goal(std::uint32_t slot) const;

 private:
  friend class AgentCalls;
  std::optional<TaskSpec> spec_;
  Phase phase_ = Phase::Train;
  Budget budget_;
  Goals goals_;
};

}  // namespace reglue
