#include "wire_turns.h"

#include <limits>
#include <string>

#include "wire_tensors.h"

namespace reglue {

namespace {

constexpr std::uint32_t kKnownFlags = Defaulted | Clipped;  // later versions may have more

template <class T>
Span<const T> all(const google::protobuf::RepeatedField<T>& field) {
  return {field.data(), static_cast<std::size_t>(field.size())};
}

[[noreturn]] void throw_unknown(const char* what, int got) {
  throw BadReply("OUT_OF_DOMAIN", what + (" " + std::to_string(got)),
                 "what protocol 1.0 knows");
}

void check_counts(const char* what, int slots, int entries) {
  if (slots == entries) return;
  throw BadReply("WRONG_SIZE", std::to_string(entries) + " " + what, std::to_string(slots) +
                                                                         ", one a slot");
}

void check_slots(Span<const std::uint32_t> slots, std::uint32_t limit) {
  for (const std::uint32_t slot : slots) {
    if (slot >= limit) {
      throw BadReply("OUT_OF_DOMAIN", "slot " + std::to_string(slot),
                     "0 to " + std::to_string(limit - 1));
    }
  }
}

void decode_kinds(const v1::Turn& message, std::vector<EndKind>& kinds) {
  kinds.clear();
  for (const int kind : message.end_kinds()) {
    if (kind < v1::END_KIND_TERMINATED || kind > v1::END_KIND_VOID) {
      throw_unknown("end kind", kind);
    }
    kinds.push_back(static_cast<EndKind>(kind));
  }
}

/// One a row; NaN where they are withheld.
Rewards decode_rewards(v1::Turn& message, std::size_t rows, bool is_withheld,
                       std::vector<double>& withheld) {
  if (!is_withheld) return view(rewards_spec(), *message.mutable_rewards(), rows).as<double>();
  if (!message.rewards().empty()) {
    throw BadReply("WRONG_SIZE", std::to_string(message.rewards().size()) + " bytes of 'rewards'",
                   "0");
  }
  withheld.assign(rows, std::numeric_limits<double>::quiet_NaN());
  return withheld;
}

void check_answer(const TaskSpec& spec, std::size_t rows, std::size_t most) {
  const std::size_t bytes = row_bytes(spec.actions);
  if (bytes > 0 && rows > most / bytes) {
    throw BadReply("WRONG_SIZE", "a turn of " + std::to_string(rows) + " rows of actions",
                   "an answer of at most " + std::to_string(most) + " bytes");
  }
}

}  // namespace

Turn decode_turn(v1::Turn& message, const TaskSpec& spec, TurnRoom& room,
                 std::size_t max_message_bytes) {
  const int phase = message.phase();
  if (phase < v1::PHASE_TRAIN || phase > v1::PHASE_EVALUATE) throw_unknown("phase", phase);
  check_counts("end kinds", message.end_slots_size(), message.end_kinds_size());
  check_counts("step flags", message.step_slots_size(), message.step_flags_size());
  check_counts("start seeds", message.start_slots_size(), message.start_seeds_size());
  Turn turn;
  turn.phase = static_cast<Phase>(phase);
  decode_kinds(message, room.kinds);
  room.flags.clear();
  for (const std::uint32_t flags : message.step_flags()) {
    room.flags.push_back(static_cast<std::uint8_t>(flags & kKnownFlags));
  }
  turn.ends = {all(message.end_slots()), room.kinds};
  turn.steps = {all(message.step_slots()), room.flags};
  turn.starts = {all(message.start_slots()), all(message.start_seeds())};
  for (const auto slots : {turn.ends.slots, turn.steps.slots, turn.starts.slots}) {
    check_slots(slots, spec.slots);
  }
  const std::size_t rewarded = turn.ends.size() + turn.steps.size();
  const bool is_withheld = turn.phase == Phase::Evaluate && !spec.rewards_in_evaluation;
  turn.rewards = decode_rewards(message, rewarded, is_withheld, room.withheld);
  turn.observations =
      view(spec.observations, *message.mutable_observations(), rewarded + turn.starts.size());
  check_answer(spec, turn.steps.size() + turn.starts.size(), max_message_bytes);
  return turn;
}

}  // namespace reglue
