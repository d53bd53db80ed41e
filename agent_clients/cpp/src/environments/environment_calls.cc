#include "environments/environment_calls.h"

#include <cstring>

#include "text.h"
#include "wire/wire.h"

namespace reglue {
namespace {

v1::RefusalCode code_of(const RoutineRefused& refused) {
  v1::RefusalCode code = v1::REFUSAL_CODE_UNSPECIFIED;
  const bool is_known = v1::RefusalCode_Parse("REFUSAL_CODE_" + refused.code, &code);
  return is_known ? code : v1::REFUSAL_CODE_UNSPECIFIED;
}

void refuse(const RoutineRefused& refused, v1::EnvironmentReply& reply) {
  v1::Refusal& refusal = *reply.mutable_refusal();
  refusal.set_code(code_of(refused));
  refusal.set_got(clean(refused.got, kMostFaultCharacters));
  refusal.set_wanted(clean(refused.wanted, kMostFaultCharacters));
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
        return play(environment_, *play_, environment_.spec_, *reply.mutable_played(), log_);
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
  begin(environment_, slots);
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

const TaskSpec& EnvironmentCalls::begin(Environment& environment, std::uint32_t slots) {
  TaskSpec spec = environment.env_init(slots);
  spec.slots = slots;
  check(spec);
  environment.spec_ = std::move(spec);
  return environment.spec_;
}

void EnvironmentCalls::message(const std::string& text, v1::EnvironmentReply& reply) {
  std::string answer = environment_.env_message(text);
  if (!is_utf8(answer)) throw UsageError("env_message() returned bytes that are no UTF-8");
  reply.mutable_message()->set_text(std::move(answer));
}

void EnvironmentCalls::routine(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply) {
  if (!has_begun_)
    throw OutOfOrder(Trace::name_of_call(call) + " before env_init", "env_init first");
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

namespace {

template <class Repeated>
Span<const std::uint32_t> span_of(const Repeated& slots) {
  return {slots.data(), static_cast<std::size_t>(slots.size())};
}

/// Throws BadReply unless each slot is there, once.
void check_slots(const v1::Play& message, std::uint32_t slots) {
  std::vector<bool> is_named(slots);
  for (const auto* named : {&message.step_slots(), &message.start_slots()}) {
    for (const std::uint32_t slot : *named) {
      if (slot >= slots) {
        throw BadReply("OUT_OF_DOMAIN", "slot " + std::to_string(slot),
                       "0 to " + std::to_string(slots - 1));
      }
      if (is_named[slot]) {
        throw BadReply("WRONG_SIZE", "slot " + std::to_string(slot) + " twice", "each slot once");
      }
      is_named[slot] = true;
    }
  }
}

Cell cell_of(const v1::Cell& message) {
  if (message.phase() < v1::PHASE_TRAIN || message.phase() > v1::PHASE_EVALUATE) {
    throw BadReply("OUT_OF_DOMAIN", "phase " + std::to_string(message.phase()),
                   "one of protocol 1.0");
  }
  return {message.task(),
          message.variant(),
          message.seed(),
          message.repeat(),
          static_cast<Phase>(message.phase()),
          message.steps()};
}

using Faults = std::map<std::uint32_t, std::string>;

/// Fills in all rows: steps, then starts.
class Rows {
 public:
  Rows(const Play& play, const TaskSpec& spec, v1::Played& played)
      : play_(play),
        played_(played),
        rewards_(play.step_slots.size()),
        flags_(play.rows()),
        observations_(zeros(spec.observations, *played.mutable_observations(), play.rows())) {}

  void fill(Environment& environment) {
    const std::size_t steps = play_.step_slots.size(), starts = play_.cells.size();
    if (steps > 0) {
      Earned earned{rewards_, Span<std::uint8_t>(flags_).subspan(0, steps),
                    observations_.part(0, steps), faults_};
      environment.env_step(play_.actions, play_.step_slots, earned);
    }
    if (starts > 0) {
      Begun begun{observations_.part(steps, starts), faults_};
      environment.env_start(play_.cells, begun);
    }
  }

  /// Every slot's episode is void.
  void fail(const char* what) {
    rewards_.assign(rewards_.size(), 0.0);
    flags_.assign(flags_.size(), 0);
    for (const auto& slots : {play_.step_slots, play_.cells.slots}) {
      for (const std::uint32_t slot : slots) faults_[slot] = what;
    }
  }

  void write() {
    played_.mutable_rewards()->assign(reinterpret_cast<const char*>(rewards_.data()),
                                      rewards_.size() * sizeof(double));
    played_.mutable_flags()->assign(flags_.begin(), flags_.end());
    played_.clear_faults();
    for (const auto& [slot, what] : faults_) {
      v1::SlotFault& fault = *played_.add_faults();
      fault.set_slot(slot);
      fault.set_what(clean(what, kMostFaultCharacters));
    }
  }

 private:
  const Play& play_;
  v1::Played& played_;
  std::vector<double> rewards_;
  std::vector<std::uint8_t> flags_;
  ShownObservations observations_;
  Faults faults_;
};

}  // namespace

Play::Play(v1::Play& message, const TaskSpec& spec) : step_slots(span_of(message.step_slots())) {
  check_slots(message, spec.slots);
  if (message.cells_size() != message.start_slots_size()) {
    throw BadReply("WRONG_SIZE", std::to_string(message.cells_size()) + " cells",
                   std::to_string(message.start_slots_size()) + ": one for each start");
  }
  if (!step_slots.empty()) {
    actions = view(spec.actions, *message.mutable_actions(), step_slots.size());
  }
  for (const v1::Cell& cell : message.cells()) cells_.push_back(cell_of(cell));
  cells = {span_of(message.start_slots()), cells_};
}

void play(Environment& environment, const Play& play, const TaskSpec& spec, v1::Played& played,
          const Log& log) {
  Rows rows(play, spec, played);
  try {
    rows.fill(environment);
  } catch (const std::exception& error) {  // the edge of somebody's environment
    log.error("the environment failed: " + std::string(error.what()));
    rows.fail(error.what());
  } catch (...) {
    log.error(std::string("the environment failed: ") + kNoStdException);
    rows.fail(kNoStdException);
  }
  rows.write();
}

}  // namespace reglue
