#include "reglue/connect.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "agent_calls.h"
#include "program.h"
#include "text.h"

namespace reglue {

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
