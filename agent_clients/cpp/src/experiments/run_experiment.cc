#include "program.h"
#include "reglue/signals.h"

namespace reglue {

int run_experiment(const std::function<void(Experiment&)>& program, int argc, char** argv,
                   Options options) {
  const auto plays = [&](const Options& session_options, bool& has_failed) {
    Experiment rl(session_options);
    has_failed = true;  // until it returns
    program(rl);
    has_failed = false;
    rl.close();
    return std::string();
  };
  return run_program(plays, argc, argv, std::move(options));
}

}  // namespace reglue
