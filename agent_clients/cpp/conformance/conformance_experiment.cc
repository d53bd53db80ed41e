// The benchmark program for `reglue conformance experiment`. It reports what it saw with
// RL_agent_message, and the answer is its next instruction. proto/CONFORMANCE.md lists the
// instructions.
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "reglue/errors.h"
#include "reglue/experiment.h"
#include "rule.h"
#include "words.h"

namespace reglue::conformance {
namespace {

/// The words of an instruction, one after another.
class Words {
 public:
  explicit Words(const std::string& text) : stream_(text) {}

  std::uint64_t number() { return taken<std::uint64_t>(); }
  std::uint32_t slot() { return taken<std::uint32_t>(); }
  std::string word() { return taken<std::string>(); }
  Slots slots() {
    Slots slots;
    for (std::uint32_t slot; stream_ >> slot;) slots.push_back(slot);
    return slots;
  }

 private:
  template <class Value>
  Value taken() {
    Value value{};
    stream_ >> value;
    return value;
  }
  std::istringstream stream_;
};

/// A start's `SLOTS of VARIANT TASK`: the slots are the next `words`, `text` ends with the rest.
StartOptions start_of(Words& words, const std::string& text) {
  StartOptions options{words.slots()};
  const std::size_t at = (" " + text).find(" of ");
  if (at == std::string::npos) return options;
  std::istringstream goal(text.substr(at + 3));
  goal >> options.variant.emplace() >> std::ws;
  std::getline(goal, options.task);
  return options;
}

/// Carries out instructions, one after another.
class ConformanceExperiment {
 public:
  explicit ConformanceExperiment(Experiment& rl) : rl_(rl) {}

  /// Follows instructions until `leave`.
  void run() {
    std::string saw = "nothing";
    while (true) {
      const std::string instruction = rl_.rl_agent_message("did " + saw);
      if (instruction == "leave") return;
      saw = tried(instruction);
    }
  }

 private:
  std::string tried(const std::string& instruction) {
    try {
      return carried_out(instruction);
    } catch (const RoutineRefused& refused) {
      return "refused " + refused.code + " " + refused.what();
    } catch (const AgentFault& fault) {
      return std::string("agent fault ") + fault.what();
    } catch (const EnvironmentFault& fault) {
      return std::string("environment fault ") + fault.what();
    }
  }

  /// Carries it out; returns what was seen, in words.
  std::string carried_out(const std::string& instruction) {
    const auto [routine, text] = parted(instruction, ' ');
    Words words(text);
    if (routine == "init") return init(words);
    if (routine == "start") return started_words(rl_.rl_start(start_of(words, text)));
    if (routine == "step") return stepped_words(rl_.rl_step(words.slots()));
    if (routine == "episode") return episode(words, text);
    if (routine == "trajectory") return trajectory(words);
    if (routine == "counts") return counts(words.slot());
    if (routine == "success") return rl_.rl_success(words.slot()) ? "1" : "0";
    if (routine == "tasks") return tasks();
    if (routine == "get_state") return rl_.rl_get_state(words.slot());
    if (routine == "get_random_seed") return rl_.rl_get_random_seed(words.slot());
    if (routine == "agent_message") return rl_.rl_agent_message(text);
    if (routine == "env_message") return rl_.rl_env_message(text);
    if (routine == "env_start") return started_words(rl_.rl_env_start(start_of(words, text)));
    if (routine == "env_step") return env_step(words);
    if (routine == "agent_start") return agent_start(words);
    if (routine == "agent_step") return agent_step(words);
    return silently(routine, words);
  }

  /// Carries out an instruction that shows nothing.
  std::string silently(const std::string& routine, Words& words) {
    if (routine == "sleep") {
      std::this_thread::sleep_for(std::chrono::milliseconds(words.number()));
    } else if (routine == "standardize") {
      rl_.rl_standardize_randomness(words.number());
    } else if (routine == "freeze") {
      rl_.rl_freeze();
    } else if (routine == "adapt_begin") {
      rl_.rl_adapt_begin();
    } else if (routine == "adapt") {
      rl_.rl_adapt();
    } else if (routine == "iterate_goal") {
      rl_.rl_iterate_goal(words.slots());
    } else if (routine == "cleanup") {
      rl_.rl_cleanup();
    } else if (routine == "set_state") {
      const std::uint32_t slot = words.slot();
      rl_.rl_set_state(words.word(), slot);
    } else if (routine == "set_random_seed") {
      const std::uint32_t slot = words.slot();
      rl_.rl_set_random_seed(words.word(), slot);
    } else if (routine == "agent_end") {
      agent_end(words);
    } else {
      return "what is that?";
    }
    return "";
  }

  std::string init(Words& words) {
    const std::uint32_t slots = words.slot();
    return spec_text(rl_.rl_init(slots, words.number()));
  }

  std::string episode(Words& words, const std::string& text) {
    const std::uint64_t max_steps = words.number();
    const auto [slots, task, variant] = start_of(words, text);
    return rl_.rl_episode({max_steps, slots, task, variant}) ? "1" : "0";
  }

  std::string trajectory(Words& words) {
    const std::uint64_t steps = words.number();
    return trajectory_words(rl_.rl_episode_trajectory(steps, words.slot()));
  }

  std::string tasks() {
    std::string text;
    for (const Task& task : rl_.rl_tasks()) {
      text += (text.empty() ? "" : " ") + task.name + " " + std::to_string(task.variants);
    }
    return text;
  }

  std::string counts(std::uint32_t slot) {
    return number_word(rl_.rl_return(slot)) + " " + std::to_string(rl_.rl_num_steps(slot)) + " " +
           std::to_string(rl_.rl_num_episodes(slot));
  }

  // Half steps: rows are what the rule makes of each slot's memory, `memory` and its number.

  std::string env_step(Words& words) {
    const std::uint32_t memory = words.slot();
    const Slots slots = words.slots();
    const FilledRows actions = rl_.new_actions(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      make_row(Memory(memory + slots[i]), actions.tensors(), i);
    }
    return stepped_words(rl_.rl_env_step(actions, slots));
  }

  std::string agent_start(Words& words) {
    const std::uint32_t memory = words.slot();
    const Slots slots = words.slots();
    const auto [observations, rewards] = seen(memory, slots);
    return rows_word(rl_.rl_agent_start(observations, slots).actions);
  }

  std::string agent_step(Words& words) {
    const std::uint32_t memory = words.slot();
    const Slots slots = words.slots();
    const auto [observations, rewards] = seen(memory, slots);
    return rows_word(rl_.rl_agent_step(rewards, observations, slots).actions);
  }

  void agent_end(Words& words) {
    const std::uint32_t memory = words.slot();
    const bool truncated = words.number() == 1;
    const Slots slots = words.slots();
    const auto [observations, rewards] = seen(memory, slots);
    rl_.rl_agent_end(rewards, observations, slots, truncated);
  }

  /// Observations, and a reward for each slot.
  std::pair<FilledRows, std::vector<double>> seen(std::uint32_t memory, const Slots& slots) {
    FilledRows observations = rl_.new_observations(slots.size());
    std::vector<double> rewards;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Memory slot_memory(memory + slots[i]);
      const std::uint32_t elements = make_row(slot_memory, observations.tensors(), i);
      rewards.push_back(make_real(slot_memory, elements));
    }
    return {std::move(observations), std::move(rewards)};
  }

  Experiment& rl_;
};

}  // namespace
}  // namespace reglue::conformance

int main() {
  try {
    reglue::Options options;
    options.name = "ConformanceExperiment";
    reglue::Experiment rl(options);
    reglue::conformance::ConformanceExperiment(rl).run();
  } catch (const reglue::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
