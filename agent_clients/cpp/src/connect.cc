#include "reglue/connect.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "program.h"
#include "reglue/session.h"
#include "text.h"

namespace reglue {

/// Carries a call out: which routine answers which call.
class AgentCalls {
 public:
  AgentCalls(Agent& agent, AgentSession& session) : agent_(agent), session_(session) {}

  void answer(const AgentCall& call) {
    agent_.budget_ = call.budget;
    switch (call.kind) {
      case AgentCall::Kind::Turn:
        agent_.phase_ = call.turn.phase;
        agent_.turn(call.turn, session_.actions());
        return session_.act();
      case AgentCall::Kind::Message:
        return session_.reply_message(agent_.agent_message(std::string(call.text)));
      case AgentCall::Kind::Init:
        agent_.spec_ = *call.spec;
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

 private:
  Agent& agent_;
  AgentSession& session_;
};

namespace {

/// The class's own name, for who gives none.
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
  const auto plays = [&](Options given, bool& has_failed) {
    return play_all(agent, std::move(given), has_failed);
  };
  return run_program(plays, argc, argv, std::move(options));
}

}  // namespace reglue
