// A peer as a program of its own: what main() is given, and what it returns.
#pragma once

#include <functional>
#include <string>

#include "reglue/options.h"

namespace reglue {

/// Plays a session; returns the farewell's words. Sets `has_failed` before it throws what the
/// peer itself has thrown.
using Playing = std::function<std::string(Options, bool& has_failed)>;

/// Calls `play` with the options and what stands on the command line: `[ADDRESS [TOKEN]]` and
/// `--transport auto|grpc|unix`. What went wrong goes to stderr. Returns the exit code, as
/// run_agent().
int run_program(const Playing& play, int argc, char** argv, Options options);

}  // namespace reglue
