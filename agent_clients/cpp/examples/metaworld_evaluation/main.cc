// Meta-World's two evaluations as benchmark programs. They print the mean success rate.
//
//   reglue glue --listen 127.0.0.1:4096 --experiment-token SECRET …  # an agent and MT10 join it
//   REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET
//   build/cpp/examples/metaworld_evaluation/metaworld_evaluation
//       multi-task 1
//
// Source: Meta-World's documentation, "Evaluation".
#include <cstdlib>
#include <iostream>
#include <string>

#include "reglue/reglue.h"

namespace {

/// One episode for each of a task's first goals.
double multi_task_eval(reglue::Experiment& rl, std::uint32_t goals) {
  double successes = 0;
  const auto tasks = rl.rl_tasks();
  rl.rl_freeze();
  for (std::uint32_t goal = 0; goal < goals; ++goal) {
    for (const reglue::Task& task : tasks) {
      rl.rl_episode({.task = task.name, .variant = goal});
      successes += rl.rl_success();
    }
  }
  return successes / (goals * static_cast<double>(tasks.size()));
}

/// Adaptation to each of a task's first goals, then three episodes that are judged.
double metalearning_eval(reglue::Experiment& rl, int goals, int adaptation_steps,
                         int adaptation_episodes) {
  constexpr int kJudged = 3;
  double successes = 0;
  for (int goal = 0; goal < goals; ++goal) {
    rl.rl_iterate_goal();
    rl.rl_adapt_begin();
    for (int step = 0; step < adaptation_steps; ++step) {
      for (int i = 0; i < adaptation_episodes; ++i) rl.rl_episode();
      rl.rl_adapt();
    }
    rl.rl_freeze();
    for (int i = 0; i < kJudged; ++i) {
      rl.rl_episode();
      successes += rl.rl_success();
    }
  }
  return successes / (goals * kJudged);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string procedure = argc > 1 ? argv[1] : "";
  const int goals = argc > 2 ? std::atoi(argv[2]) : 40;
  const int episodes = argc > 3 ? std::atoi(argv[3]) : 10;
  if ((procedure != "multi-task" && procedure != "meta-learning") || goals < 1 || episodes < 1) {
    std::cerr << "usage: metaworld_evaluation multi-task|meta-learning [GOALS "
                 "[ADAPTATION_EPISODES]]\n";
    return 2;
  }
  try {
    reglue::Experiment rl;
    rl.rl_init();
    std::cout << (procedure == "multi-task" ? multi_task_eval(rl, static_cast<std::uint32_t>(goals))
                                            : metalearning_eval(rl, goals, 1, episodes))
              << "\n";
    rl.rl_cleanup();
  } catch (const reglue::Error& error) {
    std::cerr << "metaworld_evaluation: " << error.what() << "\n";
    return 1;
  }
}
