#include "environments/environment_calls.h"

#include <algorithm>
#include <utility>

#include "text.h"

namespace reglue {

void EnvironmentCalls::carry_out() {
  const EnvironmentCall& call = codec_.call();
  if (call.kind == EnvironmentCall::Kind::Play) return play(call);
  try {
    routine(call);
  } catch (const RoutineRefused& refused) {
    codec_.refuse(refused);
  }
}

void EnvironmentCalls::routine(const EnvironmentCall& call) {
  using Kind = EnvironmentCall::Kind;
  switch (call.kind) {
    case Kind::Init: return init(call.slots);
    case Kind::GetState: return codec_.keep(environment_.env_get_state(call.slot));
    case Kind::GetRandomSeed: return codec_.keep(environment_.env_get_random_seed(call.slot));
    case Kind::Message:
      return codec_.reply_message(environment_.env_message(std::string(call.text)));
    case Kind::SetState: environment_.env_set_state(call.slot, std::string(call.snapshot)); break;
    case Kind::SetRandomSeed:
      environment_.env_set_random_seed(call.slot, std::string(call.snapshot));
      break;
    case Kind::StandardizeRandomness: environment_.env_standardize_randomness(call.seed); break;
    default: environment_.env_cleanup();
  }
  codec_.done();
}

void EnvironmentCalls::init(std::uint32_t slots) {
  const EnvironmentTraits traits = environment_.traits();
  codec_.ready(begin(environment_, slots), traits);
}

const TaskSpec& EnvironmentCalls::begin(Environment& environment, std::uint32_t slots) {
  TaskSpec spec = environment.env_init(slots);
  spec.slots = slots;
  check(spec);
  environment.spec_ = std::move(spec);
  return environment.spec_;
}

namespace {

void step_and_start(Environment& environment, const EnvironmentCall& call, Outcome& outcome) {
  const std::size_t steps = call.step_slots.size(), starts = call.cells.size();
  if (steps > 0) {
    Earned earned{outcome.rewards, outcome.flags, outcome.observations.part(0, steps),
                  *outcome.faults};
    environment.env_step(call.actions, call.step_slots, earned);
  }
  if (starts > 0) {
    Begun begun{outcome.observations.part(steps, starts), *outcome.faults};
    environment.env_start(call.cells, begun);
  }
}

/// Every slot's episode is void.
void fail(const EnvironmentCall& call, Outcome& outcome, const char* what) {
  std::fill(outcome.rewards.begin(), outcome.rewards.end(), 0.0);
  std::fill(outcome.flags.begin(), outcome.flags.end(), std::uint8_t{0});
  for (const auto& slots : {call.step_slots, call.cells.slots}) {
    for (const std::uint32_t slot : slots) (*outcome.faults)[slot] = what;
  }
}

}  // namespace

void EnvironmentCalls::play(const EnvironmentCall& call) {
  Outcome& outcome = codec_.outcome();
  const auto failed = [&](const char* what) {
    log_.error("the environment failed: " + std::string(what));
    fail(call, outcome, what);
  };
  try {
    step_and_start(environment_, call, outcome);
  } catch (const std::exception& error) {  // the edge of somebody's environment
    failed(error.what());
  } catch (...) {
    failed(kNoStdException);
  }
  codec_.played();
}

}  // namespace reglue
