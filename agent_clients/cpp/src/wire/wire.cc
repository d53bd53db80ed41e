#include "wire/wire.h"

#include <cstdint>
#include <limits>
#include <string>

namespace reglue {

namespace {

Domain decode_domain(const v1::TensorSpec& message) {
  switch (message.domain_case()) {
    case v1::TensorSpec::kBox: {
      const auto& box = message.box();
      return Box{{box.low().begin(), box.low().end()}, {box.high().begin(), box.high().end()}};
    }
    case v1::TensorSpec::kDiscrete:
      return Discrete{message.discrete().n(), message.discrete().start()};
    case v1::TensorSpec::kMultiDiscrete:
      return MultiDiscrete{
          {message.multi_discrete().n().begin(), message.multi_discrete().n().end()}};
    case v1::TensorSpec::kMultiBinary: return MultiBinary{};
    case v1::TensorSpec::DOMAIN_NOT_SET: break;
  }
  throw SpecError(message.name() + ": no domain");
}

TensorSpec decode_tensor(const v1::TensorSpec& message) {
  const int dtype = message.dtype();
  if (dtype < v1::DTYPE_BOOL || dtype > v1::DTYPE_FLOAT64) {
    throw SpecError(message.name() + ": got dtype " + std::to_string(dtype) + ", wanted " +
                    std::to_string(v1::DTYPE_BOOL) + " to " + std::to_string(v1::DTYPE_FLOAT64));
  }
  return {message.name(),
          static_cast<Dtype>(dtype),
          {message.shape().begin(), message.shape().end()},
          decode_domain(message)};
}

void encode_tensor(const TensorSpec& tensor, v1::TensorSpec& message) {
  message.set_name(tensor.name);
  message.set_dtype(static_cast<v1::Dtype>(tensor.dtype));
  message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  if (const auto* box = std::get_if<Box>(&tensor.domain)) {
    message.mutable_box()->mutable_low()->Add(box->low.begin(), box->low.end());
    message.mutable_box()->mutable_high()->Add(box->high.begin(), box->high.end());
  } else if (const auto* discrete = std::get_if<Discrete>(&tensor.domain)) {
    message.mutable_discrete()->set_n(discrete->n);
    message.mutable_discrete()->set_start(discrete->start);
  } else if (const auto* many = std::get_if<MultiDiscrete>(&tensor.domain)) {
    message.mutable_multi_discrete()->mutable_n()->Add(many->n.begin(), many->n.end());
  } else {
    message.mutable_multi_binary();
  }
}

}  // namespace

TaskSpec decode_spec(const v1::TaskSpec& message) {
  TaskSpec spec;
  for (const auto& tensor : message.observations()) {
    spec.observations.push_back(decode_tensor(tensor));
  }
  for (const auto& tensor : message.actions()) spec.actions.push_back(decode_tensor(tensor));
  spec.reward_low = message.reward_low();
  spec.reward_high = message.reward_high();
  spec.discount = message.discount();
  spec.horizon = message.horizon();
  spec.continuing = message.continuing();
  spec.rewards_in_evaluation = message.rewards_in_evaluation();
  spec.slots = message.slots();
  spec.extra = message.extra();
  check(spec);
  return spec;
}

void encode_spec(const TaskSpec& spec, v1::TaskSpec& message) {
  message.Clear();
  for (const TensorSpec& tensor : spec.observations) {
    encode_tensor(tensor, *message.add_observations());
  }
  for (const TensorSpec& tensor : spec.actions) encode_tensor(tensor, *message.add_actions());
  message.set_reward_low(spec.reward_low);
  message.set_reward_high(spec.reward_high);
  message.set_discount(spec.discount);
  message.set_horizon(spec.horizon);
  message.set_continuing(spec.continuing);
  message.set_rewards_in_evaluation(spec.rewards_in_evaluation);
  message.set_slots(spec.slots);
  message.set_extra(spec.extra);
}

namespace {

/// More than any string holds inline: its bytes then come from `new`, aligned for every dtype.
constexpr std::size_t kOutside = 64;

/// The entry's bytes, moved only if they are not aligned for `size`.
std::byte* aligned(std::string& entry, std::size_t size) {
  if (reinterpret_cast<std::uintptr_t>(entry.data()) % size != 0) entry.reserve(kOutside);
  return reinterpret_cast<std::byte*>(entry.data());
}

}  // namespace

Observations view(const std::vector<TensorSpec>& specs, Entries& entries, std::size_t rows) {
  if (static_cast<std::size_t>(entries.size()) != specs.size()) {
    throw BadReply("WRONG_SIZE", std::to_string(entries.size()) + " tensors",
                   std::to_string(specs.size()));
  }
  std::vector<BasicRows<const std::byte>> views;
  views.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    views.push_back(view(specs[i], *entries.Mutable(static_cast<int>(i)), rows));
  }
  return {std::move(views), rows};
}

BasicRows<const std::byte> view(const TensorSpec& spec, std::string& entry, std::size_t rows) {
  if (entry.size() != rows * spec.row_bytes()) {
    detail::throw_wrong_size(spec, entry.size(), rows);
  }
  return {spec, aligned(entry, size_of(spec.dtype)), rows};
}

BasicTensors<std::byte> zeros(const std::vector<TensorSpec>& specs, Entries& entries,
                              std::size_t rows) {
  std::vector<BasicRows<std::byte>> views;
  views.reserve(specs.size());
  while (static_cast<std::size_t>(entries.size()) > specs.size()) entries.RemoveLast();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const int index = static_cast<int>(i);
    std::string& entry = index < entries.size() ? *entries.Mutable(index) : *entries.Add();
    entry.assign(rows * specs[i].row_bytes(), '\0');
    views.emplace_back(specs[i], aligned(entry, size_of(specs[i].dtype)), rows);
  }
  return {std::move(views), rows};
}

std::size_t row_bytes(const std::vector<TensorSpec>& specs) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.row_bytes();
  return bytes;
}

const TensorSpec& rewards_spec() {
  static const TensorSpec spec{"rewards", Dtype::Float64, {}, Box{}};
  return spec;
}

namespace {

constexpr std::uint32_t kKnownFlags = Defaulted | Clipped;  // later versions may have more

template <class T>
Span<const T> all(const google::protobuf::RepeatedField<T>& field) {
  return {field.data(), static_cast<std::size_t>(field.size())};
}

[[noreturn]] void throw_unknown(const char* what, int got) {
  throw BadReply("OUT_OF_DOMAIN", what + (" " + std::to_string(got)), "what protocol 1.0 knows");
}

void check_counts(const char* what, int slots, int entries) {
  if (slots == entries) return;
  throw BadReply("WRONG_SIZE", std::to_string(entries) + " " + what,
                 std::to_string(slots) + ", one a slot");
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

/// One a row; NaN if they are withheld.
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

Turn decode_turn(v1::Turn& message, const TaskSpec& spec, TurnBuffers& buffers,
                 std::size_t max_message_bytes) {
  const int phase = message.phase();
  if (phase < v1::PHASE_TRAIN || phase > v1::PHASE_EVALUATE) throw_unknown("phase", phase);
  check_counts("end kinds", message.end_slots_size(), message.end_kinds_size());
  check_counts("step flags", message.step_slots_size(), message.step_flags_size());
  check_counts("start seeds", message.start_slots_size(), message.start_seeds_size());
  Turn turn;
  turn.phase = static_cast<Phase>(phase);
  decode_kinds(message, buffers.kinds);
  buffers.flags.clear();
  for (const std::uint32_t flags : message.step_flags()) {
    buffers.flags.push_back(static_cast<std::uint8_t>(flags & kKnownFlags));
  }
  turn.ends = {all(message.end_slots()), buffers.kinds};
  turn.steps = {all(message.step_slots()), buffers.flags};
  turn.starts = {all(message.start_slots()), all(message.start_seeds())};
  for (const auto& slots : {turn.ends.slots, turn.steps.slots, turn.starts.slots}) {
    check_slots(slots, spec.slots);
  }
  const std::size_t rewarded = turn.ends.size() + turn.steps.size();
  const bool is_withheld = turn.phase == Phase::Evaluate && !spec.rewards_in_evaluation;
  turn.rewards = decode_rewards(message, rewarded, is_withheld, buffers.withheld);
  turn.observations =
      view(spec.observations, *message.mutable_observations(), rewarded + turn.starts.size());
  check_answer(spec, turn.steps.size() + turn.starts.size(), max_message_bytes);
  return turn;
}

}  // namespace reglue
