// A peer as a program: its command line and its exit code.
#pragma once

#include <functional>
#include <string>

#include "reglue/options.h"

namespace reglue {

/// Plays a session; returns the farewell's text, if there is one. Sets `has_failed` before it
/// throws what the peer has thrown.
using Playing = std::function<std::string(Options, bool& has_failed)>;

/// Calls `play` with the options and the command line's arguments: `[ADDRESS [TOKEN]]` and
/// `--transport auto|grpc|unix`. Errors go to stderr. Returns the exit code, as
/// run_agent().
int run_program(const Playing& play, int argc, char** argv, Options options);

}  // namespace reglue
