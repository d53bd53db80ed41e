#include "agent_calls.h"

namespace reglue {

void AgentCalls::answer(const AgentCall& call) {
  take(call);
  switch (call.kind) {
    case AgentCall::Kind::Turn:
      agent_.turn(call.turn, session_.actions());
      return session_.act();
    case AgentCall::Kind::Message:
      return session_.reply_message(agent_.agent_message(std::string(call.text)));
    case AgentCall::Kind::Init:
      agent_.agent_init(*agent_.spec_);
      break;
    case AgentCall::Kind::Freeze:
      agent_.agent_freeze();
      break;
    case AgentCall::Kind::AdaptBegin:
      agent_.adapt_begin();
      break;
    case AgentCall::Kind::Adapt:
      agent_.adapt();
      break;
    case AgentCall::Kind::Cleanup:
      agent_.agent_cleanup();
      break;
  }
  session_.done();
}

void AgentCalls::take(const AgentCall& call) {
  agent_.budget_ = call.budget;
  if (call.kind == AgentCall::Kind::Init) {
    agent_.spec_ = *call.spec;
    agent_.goals_ = Goals(*call.spec);
  } else if (call.kind == AgentCall::Kind::Turn) {
    agent_.phase_ = call.turn.phase;
    agent_.goals_.see(call.turn);
  }
}

}  // namespace reglue
