// Plays until SIGTERM comes, and leaves then.
#include <atomic>
#include <csignal>

#include "reglue/connect.h"

namespace {

std::atomic<bool> stop = false;

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { stop = true; });
  reglue::Agent agent;
  reglue::Options options;
  options.stop = &stop;
  return reglue::run_agent(agent, argc, argv, options);
}
