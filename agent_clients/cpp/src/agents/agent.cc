#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "agents/agent_calls.h"
#include "program.h"
#include "reglue/agent.h"
#include "reglue/connect.h"
#include "text.h"

namespace reglue {

namespace {

[[noreturn]] void throw_lacks(const char* routine) {
  throw UsageError(std::string("the agent lacks ") + routine +
                   "(); write agent_start() and agent_step(), or turn()");
}

[[noreturn]] void throw_no_goal(const TaskSpec& spec) {
  std::string names;
  for (const TensorSpec& tensor : spec.observations) {
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  throw UsageError("got a task that shows " + names + ", wanted a tensor called desired_goal");
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

void AgentCalls::answer(const AgentCall& call) {
  take(agent_, call);
  switch (call.kind) {
    case AgentCall::Kind::Turn: agent_.turn(call.turn, session_.actions()); return session_.act();
    case AgentCall::Kind::Message:
      return session_.reply_message(agent_.agent_message(std::string(call.text)));
    case AgentCall::Kind::Init: agent_.agent_init(*agent_.spec_); break;
    case AgentCall::Kind::Freeze: agent_.agent_freeze(); break;
    case AgentCall::Kind::AdaptBegin: agent_.adapt_begin(); break;
    case AgentCall::Kind::Adapt: agent_.adapt(); break;
    case AgentCall::Kind::Cleanup: agent_.agent_cleanup(); break;
  }
  session_.done();
}

void AgentCalls::take(Agent& agent, const AgentCall& call) {
  agent.budget_ = call.budget;
  if (call.kind == AgentCall::Kind::Init) {
    agent.spec_ = *call.spec;
    agent.goals_ = Goals(*call.spec);
  } else if (call.kind == AgentCall::Kind::Turn) {
    agent.phase_ = call.turn.phase;
    agent.goals_.see(call.turn);
  }
}

namespace {

/// The name of the class, the default of AgentTraits::name.
std::string class_name(const Agent& agent) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(agent).name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : "agent";
}

std::string play_all(Agent& agent, Options options, bool& has_failed) {
  AgentTraits traits = agent.traits();
  if (traits.name.empty()) traits.name = class_name(agent);
  AgentSession session(std::move(options), std::move(traits));
  AgentCalls calls(agent, session);
  while (const AgentCall* call = session.next()) {
    try {
      calls.answer(*call);
    } catch (const std::exception& error) {
      has_failed = true;
      session.fault(error.what());
      throw;
    } catch (...) {
      has_failed = true;
      session.fault(kNoStdException);
      throw;
    }
  }
  return session.farewell();
}

}  // namespace

std::string connect(Agent& agent, Options options) {
  bool has_failed = false;
  return play_all(agent, std::move(options), has_failed);
}

int run_agent(Agent& agent, int argc, char** argv, Options options) {
  const auto plays = [&](Options session_options, bool& has_failed) {
    return play_all(agent, std::move(session_options), has_failed);
  };
  return run_program(plays, argc, argv, std::move(options));
}

}  // namespace reglue
