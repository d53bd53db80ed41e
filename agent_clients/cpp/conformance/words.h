// Reports and instructions of conformance programs, as text.
#pragma once

#include <string>

#include "reglue/experiment.h"
#include "reglue/spec.h"

namespace reglue::conformance {

/// Slots, observations, and actions if the agent acts.
std::string started_words(const Started& started);

/// Slots, rewards, observations, flags, and actions if the agent acts.
std::string stepped_words(const Stepped& stepped);

/// Observations, actions, rewards, and how it ended in a byte.
std::string trajectory_words(const Trajectory& trajectory);

/// Each tensor with all of its rows, one tensor after another.
std::string rows_word(const BasicTensors<const std::byte>& tensors);

/// A number as JSON writes it, which reads back as the same number.
std::string number_word(double number);

/// A line for the task, then one for each observation and each action.
std::string spec_text(const TaskSpec& spec);

/// The spec of such lines. Throws std::invalid_argument for other text.
TaskSpec spec_of_text(const std::string& text);

}  // namespace reglue::conformance
