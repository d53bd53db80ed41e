#include "environment_play.h"

#include <cstring>

#include "text.h"
#include "wire_tensors.h"

namespace reglue {
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
  return {message.task(), message.variant(), message.seed(), message.repeat(),
          static_cast<Phase>(message.phase()), message.steps()};
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

Play::Play(v1::Play& message, const TaskSpec& spec)
    : step_slots(span_of(message.step_slots())) {
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
    log("the environment failed: " + std::string(error.what()));
    rows.fail(error.what());
  } catch (...) {
    log(std::string("the environment failed: ") + kNoStdException);
    rows.fail(kNoStdException);
  }
  rows.write();
}

}  // namespace reglue
