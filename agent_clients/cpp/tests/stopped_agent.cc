// Plays until SIGTERM comes, and leaves then. Its answer to a message is large.
#include <atomic>
#include <csignal>
#include <iostream>
#include <string>

#include "reglue/connect.h"

namespace {

std::atomic<bool> stop = false;

class LongAnswer : public reglue::Agent {
 public:
  std::string agent_message(const std::string&) override {
    std::cerr << "answering\n";
    return std::string(8 << 20, '.');
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { stop = true; });
  LongAnswer agent;
  reglue::Options options;
  options.stop = [] { return stop.load(); };
  return reglue::run_agent(agent, argc, argv, options);
}
