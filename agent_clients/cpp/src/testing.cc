#include "reglue/testing.h"

#include <memory>
#include <utility>

#include "agents/agent_calls.h"
#include "environments/environment_calls.h"

namespace reglue::testing {

FilledRows observations(const TaskSpec& spec, std::size_t rows) {
  const auto shared_spec = std::make_shared<const TaskSpec>(spec);
  return {shared_spec, shared_spec->observations, rows};
}

void agent_init(Agent& agent, const TaskSpec& spec, const Budget& budget) {
  check(spec);
  AgentCall call;
  call.budget = budget;
  call.spec = &spec;
  AgentCalls::take(agent, call);
  agent.agent_init(spec);
}

Answer agent_turn(Agent& agent, const Turn& turn, const Budget& budget) {
  AgentCall call;
  call.kind = AgentCall::Kind::Turn;
  call.budget = budget;
  call.turn = turn;
  const auto spec = std::make_shared<const TaskSpec>(AgentCalls::spec_of(agent));
  AgentCalls::take(agent, call);
  Answer answer{{spec, spec->actions, turn.steps.size() + turn.starts.size()}, {}};
  Actions actions(answer.actions.tensors(), answer.abandoned);
  agent.turn(turn, actions);
  return answer;
}

const TaskSpec& env_init(Environment& environment, std::uint32_t slots) {
  return EnvironmentCalls::begin(environment, slots);
}

}  // namespace reglue::testing
