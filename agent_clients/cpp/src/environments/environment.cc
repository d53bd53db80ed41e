#include "reglue/environment.h"
#include "environments/environment_calls.h"
#include "environments/environment_connection.h"
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

std::string play_all(Environment& environment, const Options& options, bool& has_failed) {
  const EnvironmentTraits traits = environment.traits();
  EnvironmentConnection connection(options, options.name.empty() ? traits.name : options.name,
                                   traits.max_slots);
  EnvironmentCalls calls(environment, connection.codec(), connection.log());
  while (connection.next()) {
    try {
      calls.carry_out();
      connection.answer();
    } catch (const std::exception& error) {
      has_failed = true;
      connection.fault(error.what());
      throw;
    } catch (...) {
      has_failed = true;
      connection.fault(kNoStdException);
      throw;
    }
  }
  return connection.farewell();
}

}  // namespace

std::string connect(Environment& environment, Options options) {
  bool has_failed = false;
  return play_all(environment, options, has_failed);
}

int run_environment(Environment& environment, int argc, char** argv, Options options) {
  const auto plays = [&](const Options& session_options, bool& has_failed) {
    return play_all(environment, session_options, has_failed);
  };
  return run_program(plays, argc, argv, std::move(options));
}

}  // namespace reglue
