// Waits for an agent and an environment; for tests/agent_clients, which interrupt it.
#include "reglue/signals.h"

int main(int argc, char** argv) {
  return reglue::run_experiment([](reglue::Experiment& rl) { rl.rl_init(); }, argc, argv);
}
