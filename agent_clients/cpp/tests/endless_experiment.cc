// Plays episodes until a signal or the glue ends it; for tests/agent_clients.
#include "reglue/signals.h"

int main(int argc, char** argv) {
  const auto play_on = [](reglue::Experiment& rl) {
    rl.rl_init();
    while (true) rl.rl_episode({20});
  };
  return reglue::run_experiment(play_on, argc, argv);
}
