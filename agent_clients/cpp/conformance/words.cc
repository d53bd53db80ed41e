#include "words.h"

#include <cstdio>

#include "rule.h"

namespace reglue::conformance {
namespace {

/// The bytes of numbers, one after another.
template <class Numbers>
std::string numbers_word(const Numbers& numbers) {
  Memory memory;
  for (const auto number : numbers) memory.take(number);
  return memory.word();
}

/// With a space before it; nothing where the agent does not act.
std::string actions_word(const ChosenActions& actions) {
  return actions.size() > 0 ? " " + rows_word(actions) : "";
}

}  // namespace

std::string started_words(const Started& started) {
  return numbers_word(started.slots) + " " + rows_word(started.observations) +
         actions_word(started.actions);
}

std::string stepped_words(const Stepped& stepped) {
  return numbers_word(stepped.slots) + " " + numbers_word(stepped.rewards) + " " +
         rows_word(stepped.observations) + " " + numbers_word(stepped.flags) +
         actions_word(stepped.actions);
}

std::string trajectory_words(const Trajectory& trajectory) {
  const std::uint8_t flags[] = {trajectory.flags};
  return rows_word(trajectory.observations) + " " + rows_word(trajectory.actions) + " " +
         numbers_word(trajectory.rewards) + " " + numbers_word(flags);
}

std::string rows_word(const BasicTensors<const std::byte>& tensors) {
  Memory memory;
  for (const auto& tensor : tensors) memory.take_rows(tensor);
  return memory.word();
}

std::string number_word(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", number);
  return digits;
}

}  // namespace reglue::conformance
