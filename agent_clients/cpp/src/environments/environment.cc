#include "reglue/environment.h"
#include "environments/environment_calls.h"
#include "net/answering_session.h"
#include "program.h"
#include "text.h"

namespace reglue {

std::string Environment::env_get_state(std::uint32_t) {
  throw NotSupported("env_get_state", "an environment with states");
}

void Environment::env_set_state(std::uint32_t, const std::string&) {
  throw NotSupported("env_set_state", "an environment with states");
}

std::string Environment::env_get_random_seed(std::uint32_t) {
  throw NotSupported("env_get_random_seed", "an environment with random seeds");
}

void Environment::env_set_random_seed(std::uint32_t, const std::string&) {
  throw NotSupported("env_set_random_seed", "an environment with random seeds");
}

void Environment::env_standardize_randomness(std::uint64_t) {
  throw NotSupported("env_standardize_randomness", "an environment with standardized randomness");
}

std::string Environment::env_message(const std::string&) { return ""; }

void Environment::env_cleanup() {}

namespace {

struct EnvironmentWire {
  using Call = v1::EnvironmentCall;
  using Reply = v1::EnvironmentReply;
  static constexpr v1::Role role = v1::ROLE_ENVIRONMENT;
  static constexpr const char* method = "/reglue.v1.EnvironmentService/Session";
  static void reuse(Call& call) { call.Clear(); }
};
using Session = AnsweringSession<EnvironmentWire>;

/// The environment's hello.
Session::Hello hello_of(const EnvironmentTraits& traits, const std::string& name) {
  return [max_slots = traits.max_slots, name = clean(name, kMostNameCharacters)](
             v1::EnvironmentReply& reply, const v1::Ticket& ticket, std::uint64_t answered) {
    v1::EnvironmentHello& hello = *reply.mutable_hello();
    greet(hello, ticket, answered);
    hello.set_environment(name);
    hello.set_max_slots(max_slots);
  };
}

/// Answers the call. Tells the glue what the environment throws, and throws it on.
void answer(Session& session, EnvironmentCalls& calls, const v1::EnvironmentCall& call,
            bool& has_failed) {
  try {
    calls.carry_out(call, session.reply());
    session.answer();
  } catch (const std::exception& error) {
    has_failed = true;
    session.fault(call.seq(), error.what());
    throw;
  } catch (...) {
    has_failed = true;
    session.fault(call.seq(), kNoStdException);
    throw;
  }
}

std::string play_all(Environment& environment, const Options& options, bool& has_failed) {
  const EnvironmentTraits traits = environment.traits();
  const std::string name = options.name.empty() ? traits.name : options.name;
  Session session(options, name, hello_of(traits, name));
  EnvironmentCalls calls(environment, session.log());
  while (v1::EnvironmentCall* call = session.next()) {
    try {
      calls.read(*call);
    } catch (const BadReply& error) {
      session.lose(error.what());
    }
    answer(session, calls, *call, has_failed);
  }
  return session.farewell();
}

}  // namespace

std::string connect(Environment& environment, Options options) {
  bool has_failed = false;
  return play_all(environment, options, has_failed);
}

int run_environment(Environment& environment, int argc, char** argv, Options options) {
  const auto plays = [&](const Options& given, bool& has_failed) {
    return play_all(environment, given, has_failed);
  };
  return run_program(plays, argc, argv, std::move(options));
}

}  // namespace reglue
