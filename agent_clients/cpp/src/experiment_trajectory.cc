// RL_episode of RL-Glue 1.0, made of RL_start and RL_step.
#include "reglue/experiment.h"

namespace reglue {
namespace {

/// Copies the only row of each tensor to row `row` of others.
void copy_row(const BasicTensors<const std::byte>& from, const FilledRows& to, std::size_t row) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    to.tensors()[i].part(row, 1).assign_bytes(from[i].bytes());
  }
}

}  // namespace

Trajectory Experiment::rl_episode_trajectory(std::uint64_t steps, std::uint32_t slot) {
  const Started first = rl_start({slot});
  std::vector<Stepped> later;
  std::vector<double> rewards;
  std::uint8_t flags = 0;
  while (flags == 0 && rewards.size() < steps) {
    Stepped stepped = rl_step({slot});
    rewards.push_back(stepped.rewards[0]);
    flags = stepped.flags[0] & (Terminated | Truncated);
    if (flags == 0) later.push_back(std::move(stepped));
  }
  const std::size_t rows = 1 + later.size();
  Trajectory trajectory{new_observations(rows), new_actions(rows), std::move(rewards), flags};
  copy_row(first.observations, trajectory.observations, 0);
  copy_row(first.actions, trajectory.actions, 0);
  for (std::size_t i = 0; i < later.size(); ++i) {
    copy_row(later[i].observations, trajectory.observations, i + 1);
    copy_row(later[i].actions, trajectory.actions, i + 1);
  }
  return trajectory;
}

}  // namespace reglue
