#include "reglue/environment.h"

namespace reglue {

std::string Environment::env_get_state(std::uint32_t) {
  throw NotSupported("env_get_state", "an environment that keeps states");
}

void Environment::env_set_state(std::uint32_t, const std::string&) {
  throw NotSupported("env_set_state", "an environment that keeps states");
}

std::string Environment::env_get_random_seed(std::uint32_t) {
  throw NotSupported("env_get_random_seed", "an environment that keeps its chance");
}

void Environment::env_set_random_seed(std::uint32_t, const std::string&) {
  throw NotSupported("env_set_random_seed", "an environment that keeps its chance");
}

void Environment::env_standardize_randomness(std::uint64_t) {
  throw NotSupported("env_standardize_randomness", "an environment of numbered chance");
}

std::string Environment::env_message(const std::string&) { return ""; }

void Environment::env_cleanup() {}

}  // namespace reglue
