#include "reglue/agent.h"

namespace reglue {

namespace {

[[noreturn]] void throw_lacks(const char* routine) {
  throw UsageError(std::string("the agent lacks ") + routine +
                   "(); write agent_start() and agent_step(), or turn()");
}

[[noreturn]] void throw_no_goal(const TaskSpec& spec) {
  std::string shown;
  for (const TensorSpec& tensor : spec.observations) {
    shown += (shown.empty() ? "" : ", ") + tensor.name;
  }
  throw UsageError("got a task that shows " + shown + ", wanted a tensor called desired_goal");
}

}  // namespace

const TaskSpec& Agent::spec() const {
  if (!spec_) throw UsageError("there is no task yet: agent_init() comes first");
  return *spec_;
}

Observations Agent::get_goal(std::uint32_t slot) const {
  if (goals_.empty()) throw_no_goal(spec());
  return goals_.of(slot);
}

void Agent::agent_init(const TaskSpec&) {}
void Agent::agent_start(const Observations&, const Starts&, Actions&) {
  throw_lacks("agent_start");
}
void Agent::agent_step(Rewards, const Observations&, const Steps&, Actions&) {
  throw_lacks("agent_step");
}
void Agent::agent_end(Rewards, const Observations&, const Ends&) {}
void Agent::agent_freeze() {}
std::string Agent::agent_message(const std::string&) { return ""; }
void Agent::agent_cleanup() {}
void Agent::adapt_begin() {}
void Agent::adapt() {}

void Agent::turn(const Turn& turn, Actions& actions) {
  const std::size_t ends = turn.ends.size(), steps = turn.steps.size();
  const std::size_t starts = turn.starts.size();
  if (ends) {
    agent_end(turn.rewards.subspan(0, ends), turn.observations.part(0, ends), turn.ends);
  }
  if (steps) {
    Actions rows = actions.part(0, steps);
    agent_step(turn.rewards.subspan(ends, steps), turn.observations.part(ends, steps), turn.steps,
               rows);
  }
  if (starts) {
    Actions rows = actions.part(steps, starts);
    agent_start(turn.observations.part(ends + steps, starts), turn.starts, rows);
  }
}

}  // namespace reglue
