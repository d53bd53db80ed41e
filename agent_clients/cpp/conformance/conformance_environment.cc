// The environment for `reglue conformance environment`: an observation is a function of its
// episode's cell and actions.
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "reglue/environment.h"
#include "rule.h"
#include "words.h"

namespace reglue::conformance {
namespace {

/// One slot's episode; all but the first three follow from its cell.
struct Episode {
  std::uint32_t memory, rng, steps;
  std::uint32_t length;     // steps
  std::uint32_t times_out;  // truncated at its length, else terminated
  std::uint32_t is_judged;  // success ends it
};

constexpr char kState[] = "state", kRng[] = "rng";

/// A value's bytes behind a mark, and back. Throws UnknownKey for other bytes.
template <class Value>
std::string snapshot_of(const char* mark, const Value& value) {
  return mark + std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class Value>
Value recalled(const char* mark, const std::string& bytes) {
  const std::size_t head = std::strlen(mark);
  if (bytes.size() != head + sizeof(Value) || bytes.compare(0, head, mark) != 0) {
    throw UnknownKey(std::to_string(bytes.size()) + " bytes",
                     std::string("a ") + mark + " of this environment");
  }
  Value value;
  std::memcpy(&value, bytes.data() + head, sizeof value);
  return value;
}

/// An episode before its first observation.
Episode episode_of(const Cell& cell) {
  Memory memory, rng;
  memory.take_text(cell.task);
  memory.take(cell.variant);
  memory.take(cell.phase);
  memory.take(cell.steps);
  rng.take(cell.seed);
  rng.take(cell.repeat);
  return {memory.number(),
          rng.number(),
          0,
          static_cast<std::uint32_t>(2 + cell.seed % 6),
          cell.variant % 2,
          cell.phase == Phase::Evaluate};
}

class ConformanceEnvironment : public Environment {
 public:
  EnvironmentTraits traits() const override {
    EnvironmentTraits traits;
    traits.name = "ConformanceEnvironment";
    traits.tasks = {{"first", 4}, {"second/één", 1}};
    traits.restores = traits.portable = traits.seeds = traits.standardizes = true;
    return traits;
  }

  TaskSpec env_init(std::uint32_t) override {
    commands_.count("init");
    episodes_.clear();
    standard_.reset();
    failing_.reset();
    return plays_;
  }

  void env_start(const Cells& cells, Begun& begun) override {
    commands_.count("start", cells.size());
    for (std::size_t row = 0; row < cells.size(); ++row) {
      const std::uint32_t slot = cells.slots[row];
      Episode& episode = episodes_[slot] = episode_of(numbered(cells.cells[row]));
      move(episode, Memory(episode.memory), begun.observations, row);
      fail_if_due(slot, begun.faults);
    }
  }

  void env_step(const ChosenActions& actions, Span<const std::uint32_t> slots,
                Earned& earned) override {
    commands_.count("step", slots.size());
    for (std::size_t row = 0; row < slots.size(); ++row) {
      Episode& episode = on(slots[row], "env_step");
      Memory memory(episode.memory);
      memory.take_row(actions, row);
      const std::uint32_t element = move(episode, memory, earned.observations, row);
      earned.rewards[row] = make_real(Memory(episode.memory), element);
      const bool success = make_flag(Memory(episode.memory), element + 1);
      earned.flags[row] = stepped(episode, success);
      if (earned.flags[row] & (Terminated | Truncated)) episodes_.erase(slots[row]);
      fail_if_due(slots[row], earned.faults);
    }
  }

  std::string env_get_state(std::uint32_t slot) override {
    const Episode& episode = on(slot, "env_get_state");
    commands_.count("get_state");
    return snapshot_of(kState, episode);
  }

  void env_set_state(std::uint32_t slot, const std::string& state) override {
    episodes_[slot] = recalled<Episode>(kState, state);
    commands_.count("set_state");
  }

  std::string env_get_random_seed(std::uint32_t slot) override {
    const Episode& episode = on(slot, "env_get_random_seed");
    commands_.count("get_random_seed");
    return snapshot_of(kRng, episode.rng);
  }

  void env_set_random_seed(std::uint32_t slot, const std::string& seed) override {
    on(slot, "env_set_random_seed").rng = recalled<std::uint32_t>(kRng, seed);
    commands_.count("set_random_seed");
  }

  void env_standardize_randomness(std::uint64_t seed) override {
    commands_.count("standardize_randomness");
    standard_ = Standard{seed, 0};
  }

  std::string env_message(const std::string& message) override {
    commands_.count("message");
    const auto [first, lines] = parted(message, '\n');
    const auto [command, argument] = parted(first, ' ');
    if (first == "play") plays_ = spec_of_text(lines);
    if (command == "fail" && !argument.empty()) failing_ = std::stoul(argument);
    return commands_.answer(message);
  }

  void env_cleanup() override {
    commands_.count("cleanup");
    episodes_.clear();
  }

 private:
  struct Standard {
    std::uint64_t seed, starts;  // so far
  };

  /// With standardized randomness, the n-th start's cell.
  Cell numbered(Cell cell) {
    if (standard_) {
      cell.seed = standard_->seed;
      cell.repeat = standard_->starts++;
    }
    return cell;
  }

  Episode& on(std::uint32_t slot, const char* routine) {
    const auto episode = episodes_.find(slot);
    if (episode != episodes_.end()) return episode->second;
    throw OutOfOrder(routine + std::string(" in slot ") + std::to_string(slot),
                     "env_start there first");
  }

  /// Its memory takes in the rng, and shows a row. Returns how many elements that has.
  static std::uint32_t move(Episode& episode, Memory memory, const ShownObservations& observations,
                            std::size_t row) {
    memory.take(episode.rng);
    episode.memory = memory.number();
    episode.rng = Memory(episode.rng).draw(1);
    return make_row(memory, observations, row);
  }

  static std::uint8_t stepped(Episode& episode, bool success) {
    const bool is_last = ++episode.steps == episode.length;
    std::uint8_t flags = success ? Success : 0;
    if ((is_last && !episode.times_out) || (success && episode.is_judged)) flags |= Terminated;
    if (is_last && episode.times_out) flags |= Truncated;
    return flags;
  }

  void fail_if_due(std::uint32_t slot, std::map<std::uint32_t, std::string>& faults) {
    if (failing_ != slot) return;
    failing_.reset();
    episodes_.erase(slot);
    faults[slot] = ToldToFail().what();
  }

  TaskSpec plays_ = spec_of_text(
      "task -Infinity Infinity 1 0 0 1 1\nobservation observation float64 - box - -\n"
      "action action float64 - box - -");
  std::map<std::uint32_t, Episode> episodes_;  // that are on, by slot
  std::optional<Standard> standard_;
  std::optional<std::uint32_t> failing_;  // in the next Play with that slot
  Commands commands_{{"init", "start", "step", "get_state", "set_state", "get_random_seed",
                      "set_random_seed", "standardize_randomness", "message", "cleanup"}};
};

}  // namespace
}  // namespace reglue::conformance

int main(int argc, char** argv) {
  reglue::conformance::ConformanceEnvironment environment;
  return reglue::run_environment(environment, argc, argv);
}
