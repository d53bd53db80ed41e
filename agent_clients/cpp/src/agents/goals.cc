#include "reglue/goals.h"

#include <string>
#include <utility>

namespace reglue {

namespace {

bool is_goal(const std::string& name) {
  return (name + "/").find("desired_goal/") != std::string::npos;
}

}  // namespace

Goals::Goals(const TaskSpec& spec) : slots_(spec.slots) {
  for (std::size_t place = 0; place < spec.observations.size(); ++place) {
    const TensorSpec& tensor = spec.observations[place];
    if (!is_goal(tensor.name)) continue;
    tensors_.push_back({tensor, place, {}});
  }
}

void Goals::see(const Turn& turn) {
  for (Tensor& tensor : tensors_) {
    const std::size_t size = tensor.spec.row_bytes();
    const std::byte* row = turn.observations[tensor.place].bytes().data();
    for (const auto& slots : {turn.ends.slots, turn.steps.slots, turn.starts.slots}) {
      for (const std::uint32_t slot : slots) {
        tensor.rows[slot].assign(row, row + size);
        row += size;
      }
    }
  }
}

Observations Goals::of(std::uint32_t slot) const {
  if (slot >= slots_) {
    throw UsageError("got slot " + std::to_string(slot) + ", wanted 0 to " +
                     std::to_string(slots_ - 1));
  }
  std::vector<Observations::Rows> rows;
  for (const Tensor& tensor : tensors_) {
    const auto seen = tensor.rows.find(slot);
    if (seen == tensor.rows.end()) {
      throw UsageError("nothing was seen in slot " + std::to_string(slot) +
                       " yet; wait for its agent_start");
    }
    rows.emplace_back(tensor.spec, seen->second.data(), 1);
  }
  return {std::move(rows), 1};
}

}  // namespace reglue
