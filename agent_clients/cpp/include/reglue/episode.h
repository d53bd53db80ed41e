/// \file
/// What environments and benchmark programs know of episodes, and agents do not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reglue/tensors.h"

namespace reglue {

/// Bits: how a step went.
enum EpisodeFlag : std::uint8_t {
  Terminated = 1,  ///< the task ended: no future reward
  Truncated = 2,   ///< time ran out
  Success = 4,     ///< the task's own flag, at this step
};

/// What an agent chose, to be read: one tensor for each of TaskSpec.actions.
using ChosenActions = BasicTensors<const std::byte>;

/// What an environment shows, to be written: one tensor for each of TaskSpec.observations.
using ShownObservations = BasicTensors<std::byte>;

}  // namespace reglue
