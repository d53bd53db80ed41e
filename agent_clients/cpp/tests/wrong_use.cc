// An agent that goes wrong in its first turn, as WRONG_USE says: "throws", or "size", which answers
// three numbers for two. Without WRONG_USE it plays on. It waits a second for a glue.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "reglue/connect.h"

namespace {

class Wrong : public reglue::Agent {
 public:
  void agent_start(const reglue::Observations&, const reglue::Starts&,
                   reglue::Actions& actions) override {
    const char* how = std::getenv("WRONG_USE");
    if (how && std::string(how) == "throws") throw std::runtime_error("out of ideas");
    if (how && std::string(how) == "size") actions[0].assign(std::vector<float>(3));
  }
};

}  // namespace

int main(int argc, char** argv) {
  Wrong agent;
  reglue::Options options;
  options.connect_timeout = std::chrono::seconds(1);
  return reglue::run_agent(agent, argc, argv, options);
}
