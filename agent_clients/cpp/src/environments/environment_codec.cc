#include "environments/environment_codec.h"

#include <unordered_set>
#include <utility>

#include "log.h"
#include "net/join/lobby.h"
#include "text.h"
#include "wire/wire.h"

namespace reglue {
namespace {

v1::RefusalCode code_of(const RoutineRefused& refused) {
  v1::RefusalCode code = v1::REFUSAL_CODE_UNSPECIFIED;
  const bool is_known = v1::RefusalCode_Parse("REFUSAL_CODE_" + refused.code, &code);
  return is_known ? code : v1::REFUSAL_CODE_UNSPECIFIED;
}

void write_refusal(const RoutineRefused& refused, v1::Refusal& refusal) {
  refusal.set_code(code_of(refused));
  refusal.set_got(clean(refused.got, kMaxFaultCharacters));
  refusal.set_wanted(clean(refused.wanted, kMaxFaultCharacters));
}

/// Throws NotSupported.
void check_offered(bool is_offered, const v1::EnvironmentCall& call, const char* what) {
  if (!is_offered)
    throw NotSupported("env_" + Trace::name_of_call(call),
                       "an environment with " + std::string(what));
}

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

/// Throws UsageError.
void check_tasks(const std::vector<Task>& tasks) {
  if (tasks.empty()) throw UsageError("got no task, wanted at least one");
  std::unordered_set<std::string> names;
  for (const Task& task : tasks) {
    const std::string name = "'" + clean(task.name, kMostNameCharacters) + "'";
    if (!is_utf8(task.name)) throw UsageError("got task " + name + ", wanted a name in UTF-8");
    if (task.variants < 1)
      throw UsageError("got task " + name + " with no variants, wanted 1 or more");
    if (!names.insert(task.name).second) {
      throw UsageError("got task " + name + " twice, wanted each once");
    }
  }
}

/// Throws SpecError.
void check_names(const std::vector<TensorSpec>& tensors) {
  for (const TensorSpec& tensor : tensors) {
    if (is_utf8(tensor.name)) continue;
    throw SpecError("got tensor '" + clean(tensor.name, kMostNameCharacters) +
                    "', wanted a name in UTF-8");
  }
}

}  // namespace

bool EnvironmentCodec::read(v1::EnvironmentCall& message, v1::EnvironmentReply& reply) {
  call_ = EnvironmentCall{};
  call_.seq = message.seq();
  if (has_spec_) call_.spec = &spec_;
  reply_ = &reply;
  try {
    check_routine(message);
  } catch (const RoutineRefused& refused) {
    write_refusal(refused, *reply.mutable_refusal());
    close();
    return false;
  }
  switch (message.call_case()) {
    case v1::EnvironmentCall::kInit:
      call_.kind = Kind::Init;
      call_.slots = message.init().slots();
      break;
    case v1::EnvironmentCall::kPlay: read_play(*message.mutable_play()); break;
    case v1::EnvironmentCall::kGetState:
      call_.kind = Kind::GetState;
      call_.slot = message.get_state().slot();
      break;
    case v1::EnvironmentCall::kSetState:
      call_.kind = Kind::SetState;
      call_.slot = message.set_state().slot();
      call_.snapshot = message.set_state().snapshot();
      break;
    case v1::EnvironmentCall::kGetRandomSeed:
      call_.kind = Kind::GetRandomSeed;
      call_.slot = message.get_random_seed().slot();
      break;
    case v1::EnvironmentCall::kSetRandomSeed:
      call_.kind = Kind::SetRandomSeed;
      call_.slot = message.set_random_seed().slot();
      call_.snapshot = message.set_random_seed().snapshot();
      break;
    case v1::EnvironmentCall::kStandardizeRandomness:
      call_.kind = Kind::StandardizeRandomness;
      call_.seed = message.standardize_randomness().seed();
      break;
    case v1::EnvironmentCall::kMessage:
      call_.kind = Kind::Message;
      call_.text = message.message().text();
      break;
    case v1::EnvironmentCall::kCleanup: call_.kind = Kind::Cleanup; break;
    default: throw BadReply("WRONG_KIND", "an unknown call", "one of protocol 1.0");
  }
  return true;
}

void EnvironmentCodec::check_routine(const v1::EnvironmentCall& message) const {
  switch (message.call_case()) {
    case v1::EnvironmentCall::kInit: {
      const std::uint32_t slots = message.init().slots();
      if (slots >= 1 && (max_slots_ == 0 || slots <= max_slots_)) return;
      throw OutOfDomain(std::to_string(slots) + " slots",
                        max_slots_ ? "1 to " + std::to_string(max_slots_) : "at least 1");
    }
    case v1::EnvironmentCall::kPlay:
    case v1::EnvironmentCall::kMessage:
    case v1::EnvironmentCall::CALL_NOT_SET: return;
    default:
      if (!has_spec_)
        throw OutOfOrder(Trace::name_of_call(message) + " before env_init", "env_init first");
  }
  switch (message.call_case()) {
    case v1::EnvironmentCall::kGetState:
      check_offered(traits_.restores, message, "states");
      return check_slot(message.get_state().slot());
    case v1::EnvironmentCall::kSetState:
      check_offered(traits_.restores, message, "states");
      return check_slot(message.set_state().slot());
    case v1::EnvironmentCall::kGetRandomSeed:
      check_offered(traits_.seeds, message, "random seeds");
      return check_slot(message.get_random_seed().slot());
    case v1::EnvironmentCall::kSetRandomSeed:
      check_offered(traits_.seeds, message, "random seeds");
      return check_slot(message.set_random_seed().slot());
    case v1::EnvironmentCall::kStandardizeRandomness:
      return check_offered(traits_.standardizes, message, "standardized randomness");
    default: return;
  }
}

void EnvironmentCodec::check_slot(std::uint32_t slot) const {
  if (slot < spec_.slots) return;
  throw OutOfDomain("slot " + std::to_string(slot), "0 to " + std::to_string(spec_.slots - 1));
}

void EnvironmentCodec::read_play(v1::Play& message) {
  if (!has_spec_) throw BadReply("WRONG_KIND", "play before init", "init");
  check_slots(message, spec_.slots);
  if (message.cells_size() != message.start_slots_size()) {
    throw BadReply("WRONG_SIZE", std::to_string(message.cells_size()) + " cells",
                   std::to_string(message.start_slots_size()) + ": one for each start");
  }
  call_.kind = Kind::Play;
  call_.step_slots = span_of(message.step_slots());
  const std::size_t steps = call_.step_slots.size();
  if (steps > 0) call_.actions = view(spec_.actions, *message.mutable_actions(), steps);
  cells_.clear();
  for (const v1::Cell& cell : message.cells()) cells_.push_back(cell_of(cell));
  call_.cells = {span_of(message.start_slots()), cells_};
  const std::size_t rows = steps + cells_.size();
  rewards_.assign(steps, 0.0);
  flags_.assign(rows, 0);
  faults_.clear();
  auto& entries = *reply_->mutable_played()->mutable_observations();
  outcome_ = {rewards_, Span<std::uint8_t>(flags_).subspan(0, steps),
              zeros(spec_.observations, entries, rows), &faults_};
}

v1::EnvironmentReply& EnvironmentCodec::reply(bool is_right, const char* got) const {
  if (is_open() && is_right) return *reply_;
  throw UsageError(std::string("got ") + got +
                   (is_open() ? ", wanted the call's own answer" : ", wanted next() first"));
}

void EnvironmentCodec::ready(TaskSpec spec, const EnvironmentTraits& traits) {
  v1::EnvironmentReply& answer = reply(call_.kind == Kind::Init, "a TaskSpec");
  spec.slots = call_.slots;
  check(spec);
  check_names(spec.observations);
  check_names(spec.actions);
  check_tasks(traits.tasks);
  spec_ = std::move(spec);
  traits_ = traits;
  has_spec_ = true;
  call_.spec = &spec_;
  v1::EnvironmentReady& ready = *answer.mutable_ready();
  ready.Clear();
  encode_spec(spec_, *ready.mutable_spec());
  for (const Task& task : traits.tasks) {
    v1::EnvironmentTask& each = *ready.add_tasks();
    each.set_name(task.name);
    each.set_variants(task.variants);
  }
  ready.set_restores(traits.restores);
  ready.set_portable(traits.portable);
  ready.set_seeds(traits.seeds);
  ready.set_standardizes(traits.standardizes);
  ready.set_tells_no_success(!traits.tells_success);
  ready.set_whole_turns(traits.whole_turns);
  ready.set_not_repeatable(!traits.repeatable);
}

Outcome& EnvironmentCodec::outcome() {
  reply(call_.kind == Kind::Play, "an outcome");
  return outcome_;
}

void EnvironmentCodec::played() {
  v1::Played& ready = *reply(call_.kind == Kind::Play, "played").mutable_played();
  ready.mutable_rewards()->assign(reinterpret_cast<const char*>(rewards_.data()),
                                  rewards_.size() * sizeof(double));
  ready.mutable_flags()->assign(flags_.begin(), flags_.end());
  ready.clear_faults();
  for (const auto& [slot, what] : faults_) {
    v1::SlotFault& fault = *ready.add_faults();
    fault.set_slot(slot);
    fault.set_what(clean(what, kMaxFaultCharacters));
  }
}

void EnvironmentCodec::keep(std::string bytes) {
  const bool is_right = call_.kind == Kind::GetState || call_.kind == Kind::GetRandomSeed;
  reply(is_right, "bytes to keep").mutable_snapshot()->set_snapshot(std::move(bytes));
}

void EnvironmentCodec::done() {
  const Kind kind = call_.kind;
  const bool is_right = kind == Kind::SetState || kind == Kind::SetRandomSeed ||
                        kind == Kind::StandardizeRandomness || kind == Kind::Cleanup;
  reply(is_right, "done").mutable_done();
}

void EnvironmentCodec::reply_message(std::string text) {
  v1::EnvironmentReply& answer = reply(call_.kind == Kind::Message, "a message");
  if (!is_utf8(text))
    throw UsageError("got an answer to a message that is not UTF-8, wanted UTF-8");
  answer.mutable_message()->set_text(std::move(text));
}

void EnvironmentCodec::refuse(const RoutineRefused& refused) {
  write_refusal(refused, *reply(call_.kind != Kind::Play, "a refusal").mutable_refusal());
}

}  // namespace reglue
