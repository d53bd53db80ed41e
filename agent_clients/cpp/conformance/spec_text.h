// A TaskSpec as lines of words, as conformance programs say and are told it.
#pragma once

#include <string>

#include "reglue/spec.h"

namespace reglue::conformance {

/// A line for the task, then one for each observation and each action.
std::string spec_text(const TaskSpec& spec);

/// The spec of such lines. Throws std::invalid_argument for what they are not.
TaskSpec spec_of_text(const std::string& text);

}  // namespace reglue::conformance
