#include "words.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

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

/// With a space before it; empty if the agent does not act.
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

namespace {

constexpr char kNone[] = "-";

// Numbers in words; a double reads back as the same double.
std::string words_of(double number) {
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", number);
  return digits;
}
std::string words_of(std::uint64_t number) { return std::to_string(number); }
std::string words_of(std::uint32_t number) { return std::to_string(number); }

void read(const std::string& word, double& number) { number = std::strtod(word.c_str(), nullptr); }
void read(const std::string& word, std::uint64_t& number) { number = std::stoull(word); }
void read(const std::string& word, std::uint32_t& number) {
  number = static_cast<std::uint32_t>(std::stoul(word));
}
void read(const std::string& word, std::int64_t& number) { number = std::stoll(word); }

template <class Number>
std::string list_words(const std::vector<Number>& numbers) {
  std::string words;
  for (const Number number : numbers) words += (words.empty() ? "" : ",") + words_of(number);
  return words.empty() ? kNone : words;
}

template <class Number>
std::vector<Number> read_list(const std::string& words) {
  std::vector<Number> numbers;
  std::istringstream parts(words == kNone ? "" : words);
  for (std::string part; std::getline(parts, part, ',');) read(part, numbers.emplace_back());
  return numbers;
}

/// The next word of a line. Throws std::invalid_argument.
std::string next(std::istream& line) {
  std::string word;
  if (!(line >> word)) throw std::invalid_argument("a line of a TaskSpec ends too early");
  return word;
}

template <class Number>
Number next_number(std::istream& line) {
  Number number;
  read(next(line), number);
  return number;
}

struct DomainWords {
  std::string operator()(const Box& box) const {
    return "box " + list_words(box.low) + " " + list_words(box.high);
  }
  std::string operator()(const Discrete& discrete) const {
    return "discrete " + words_of(discrete.n) + " " + std::to_string(discrete.start);
  }
  std::string operator()(const MultiDiscrete& several) const {
    return "multi_discrete " + list_words(several.n);
  }
  std::string operator()(const MultiBinary&) const { return "multi_binary"; }
};

std::string tensor_words(const char* kind, const TensorSpec& tensor) {
  return std::string("\n") + kind + " " + tensor.name + " " + name_of(tensor.dtype) + " " +
         list_words(tensor.shape) + " " + std::visit(DomainWords{}, tensor.domain);
}

Dtype dtype_of(const std::string& name) {
  for (int number = 1; number <= static_cast<int>(Dtype::Float64); ++number) {
    const auto dtype = static_cast<Dtype>(number);
    if (name == name_of(dtype)) return dtype;
  }
  throw std::invalid_argument("there is no dtype " + name);
}

Domain domain_of(std::istream& line) {
  const std::string kind = next(line);
  if (kind == "box") {
    Box box;
    box.low = read_list<double>(next(line));
    box.high = read_list<double>(next(line));
    return box;
  }
  if (kind == "discrete") {
    Discrete discrete;
    read(next(line), discrete.n);
    read(next(line), discrete.start);
    return discrete;
  }
  if (kind == "multi_discrete") return MultiDiscrete{read_list<std::uint64_t>(next(line))};
  if (kind == "multi_binary") return MultiBinary{};
  throw std::invalid_argument("there is no domain " + kind);
}

TensorSpec tensor_of(std::istream& line) {
  TensorSpec tensor;
  tensor.name = next(line);
  tensor.dtype = dtype_of(next(line));
  tensor.shape = read_list<std::uint32_t>(next(line));
  tensor.domain = domain_of(line);
  return tensor;
}

void read_task(std::istream& line, TaskSpec& spec) {
  spec.reward_low = next_number<double>(line);
  spec.reward_high = next_number<double>(line);
  spec.discount = next_number<double>(line);
  spec.horizon = next_number<std::uint32_t>(line);
  spec.continuing = next(line) == "1";
  spec.rewards_in_evaluation = next(line) == "1";
  spec.slots = next_number<std::uint32_t>(line);
}

}  // namespace

std::string spec_text(const TaskSpec& spec) {
  std::string text = "task " + words_of(spec.reward_low) + " " + words_of(spec.reward_high) + " " +
                     words_of(spec.discount) + " " + words_of(spec.horizon) + " " +
                     (spec.continuing ? "1" : "0") + " " +
                     (spec.rewards_in_evaluation ? "1" : "0") + " " + words_of(spec.slots);
  for (const TensorSpec& tensor : spec.observations) text += tensor_words("observation", tensor);
  for (const TensorSpec& tensor : spec.actions) text += tensor_words("action", tensor);
  return text;
}

TaskSpec spec_of_text(const std::string& text) {
  TaskSpec spec;
  std::istringstream lines(text);
  for (std::string words; std::getline(lines, words);) {
    std::istringstream line(words);
    const std::string kind = next(line);
    if (kind == "task") {
      read_task(line, spec);
    } else if (kind == "observation") {
      spec.observations.push_back(tensor_of(line));
    } else if (kind == "action") {
      spec.actions.push_back(tensor_of(line));
    } else {
      throw std::invalid_argument("there is no line of " + kind);
    }
  }
  return spec;
}

}  // namespace reglue::conformance
