// A partner as a program of its own: what main() is given, and what it returns.
#pragma once

#include <functional>
#include <string>

#include "reglue/options.h"

namespace reglue {

/// Calls `play`, which returns the farewell's words, with the options and what stands on the
/// command line: `[ADDRESS [TOKEN]]` and `--transport auto|grpc|unix`. What went wrong goes to
/// stderr. Returns the exit code, as run_agent().
int run_program(const std::function<std::string(Options)>& play, int argc, char** argv,
                Options options);

}  // namespace reglue
