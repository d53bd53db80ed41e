/// \file
/// The goals that an agent has seen, slot by slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "reglue/export.h"
#include "reglue/spec.h"
#include "reglue/tensors.h"
#include "reglue/turn.h"

namespace reglue {

/// The newest rows of the goal tensors: their names are or end in `desired_goal`, such as
/// `state_desired_goal`; the parts of a goal follow a slash.
class REGLUE_API Goals {
 public:
  Goals() = default;
  /// For the task's goal tensors. Nothing is seen yet.
  explicit Goals(const TaskSpec& spec);

  /// True where the task shows none.
  bool empty() const { return tensors_.empty(); }

  /// Copies the turn's rows; where a slot ends and starts, the start's.
  void see(const Turn& turn);

  /// One row of each; valid until the next see(). Throws UsageError for an unknown slot, or if
  /// nothing was seen there yet.
  Observations of(std::uint32_t slot) const;

 private:
  struct Tensor {
    TensorSpec spec;
    std::size_t place;  // among the observations
    std::unordered_map<std::uint32_t, std::vector<std::byte>> rows;  // by slot, once seen
  };

  std::vector<Tensor> tensors_;
  std::uint32_t slots_ = 0;
};

}  // namespace reglue
