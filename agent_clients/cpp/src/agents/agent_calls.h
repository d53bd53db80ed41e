// Carries out a call on an agent: which routine answers which call.
#pragma once

#include "reglue/session.h"

namespace reglue {

class AgentCalls {
 public:
  AgentCalls(Agent& agent, AgentSession& session) : agent_(agent), session_(session) {}

  /// Calls the routine and sends its answer. Whatever the agent throws is passed on.
  void answer(const AgentCall& call);

  /// What spec(), phase(), budget() and get_goal() tell from now on.
  static void take(Agent& agent, const AgentCall& call);

  /// Throws UsageError before agent_init().
  static const TaskSpec& spec_of(const Agent& agent) { return agent.spec(); }

 private:
  Agent& agent_;
  AgentSession& session_;
};

}  // namespace reglue
