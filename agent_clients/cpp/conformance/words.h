// What a benchmark program saw, in words: a memory of its bytes for each part of an answer.
#pragma once

#include <string>

#include "reglue/experiment.h"

namespace reglue::conformance {

/// Slots, observations, and actions where the agent acts.
std::string started_words(const Started& started);

/// Slots, rewards, observations, flags, and actions where the agent acts.
std::string stepped_words(const Stepped& stepped);

/// Observations, actions, rewards, and how it ended in a byte.
std::string trajectory_words(const Trajectory& trajectory);

/// Each tensor with all of its rows, one tensor after another.
std::string rows_word(const BasicTensors<const std::byte>& tensors);

/// A number as JSON has it, so that the same number is read from it.
std::string number_word(double number);

}  // namespace reglue::conformance
