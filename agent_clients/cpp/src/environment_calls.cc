#include "environment_calls.h"

#include "text.h"
#include "wire_specs.h"

namespace reglue {
namespace {

v1::RefusalCode code_of(const RoutineRefused& refused) {
  v1::RefusalCode code = v1::REFUSAL_CODE_UNSPECIFIED;
  v1::RefusalCode_Parse("REFUSAL_CODE_" + refused.code, &code);
  return code;
}

void refuse(const RoutineRefused& refused, v1::EnvironmentReply& reply) {
  v1::Refusal& refusal = *reply.mutable_refusal();
  refusal.set_code(code_of(refused));
  refusal.set_got(clean(refused.got, kMostFaultCharacters));
  refusal.set_wanted(clean(refused.wanted, kMostFaultCharacters));
}

/// The field's name in the protocol: `get_state`.
std::string name_of(const v1::EnvironmentCall& call) {
  return v1::EnvironmentCall::descriptor()
      ->FindFieldByNumber(static_cast<int>(call.call_case()))
      ->name();
}

}  // namespace

void EnvironmentCalls::read(v1::EnvironmentCall& call) {
  if (call.call_case() == v1::EnvironmentCall::CALL_NOT_SET) {
    throw BadReply("WRONG_KIND", "an unknown call", "one of protocol 1.0");
  }
  if (!call.has_play()) return;
  if (!has_begun_) throw BadReply("WRONG_KIND", "play before init", "init");
  play_.emplace(*call.mutable_play(), environment_.spec_);
}

void EnvironmentCalls::carry_out(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply) {
  try {
    switch (call.call_case()) {
      case v1::EnvironmentCall::kPlay:
        return play(environment_, *play_, environment_.spec_, *reply.mutable_played(),
                    log_);
      case v1::EnvironmentCall::kInit: return init(call.init().slots(), reply);
      case v1::EnvironmentCall::kMessage: return message(call.message().text(), reply);
      default: return routine(call, reply);
    }
  } catch (const RoutineRefused& refused) {
    refuse(refused, reply);
  }
}

void EnvironmentCalls::init(std::uint32_t slots, v1::EnvironmentReply& reply) {
  const EnvironmentTraits traits = environment_.traits();
  if (slots < 1 || (traits.max_slots && slots > traits.max_slots)) {
    throw OutOfDomain(std::to_string(slots) + " slots",
                      traits.max_slots ? "1 to " + std::to_string(traits.max_slots) : "at least 1");
  }
  TaskSpec spec = environment_.env_init(slots);
  spec.slots = slots;
  check(spec);
  environment_.spec_ = std::move(spec);
  has_begun_ = true;
  v1::EnvironmentReady& ready = *reply.mutable_ready();
  ready.Clear();
  encode_spec(environment_.spec_, *ready.mutable_spec());
  for (const Task& task : traits.tasks) {
    v1::EnvironmentTask& told = *ready.add_tasks();
    told.set_name(task.name);
    told.set_variants(task.variants);
  }
  ready.set_restores(traits.restores);
  ready.set_portable(traits.portable);
  ready.set_seeds(traits.seeds);
  ready.set_standardizes(traits.standardizes);
  ready.set_tells_no_success(!traits.tells_success);
}

void EnvironmentCalls::message(const std::string& text, v1::EnvironmentReply& reply) {
  std::string answer = environment_.env_message(text);
  if (!is_utf8(answer)) throw UsageError("env_message() returned bytes that are no UTF-8");
  reply.mutable_message()->set_text(std::move(answer));
}

void EnvironmentCalls::routine(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply) {
  if (!has_begun_) throw OutOfOrder(name_of(call) + " before env_init", "env_init first");
  std::string kept;
  switch (call.call_case()) {
    case v1::EnvironmentCall::kGetState:
      kept = environment_.env_get_state(checked(call.get_state().slot()));
      return reply.mutable_snapshot()->set_snapshot(std::move(kept));
    case v1::EnvironmentCall::kGetRandomSeed:
      kept = environment_.env_get_random_seed(checked(call.get_random_seed().slot()));
      return reply.mutable_snapshot()->set_snapshot(std::move(kept));
    case v1::EnvironmentCall::kSetState:
      environment_.env_set_state(checked(call.set_state().slot()), call.set_state().snapshot());
      break;
    case v1::EnvironmentCall::kSetRandomSeed:
      environment_.env_set_random_seed(checked(call.set_random_seed().slot()),
                                       call.set_random_seed().snapshot());
      break;
    case v1::EnvironmentCall::kStandardizeRandomness:
      environment_.env_standardize_randomness(call.standardize_randomness().seed());
      break;
    default: environment_.env_cleanup();
  }
  reply.mutable_done();
}

std::uint32_t EnvironmentCalls::checked(std::uint32_t slot) const {
  const std::uint32_t slots = environment_.spec_.slots;
  if (slot < slots) return slot;
  throw OutOfDomain("slot " + std::to_string(slot), "0 to " + std::to_string(slots - 1));
}

}  // namespace reglue
