// Plays an agent at a glue.
#pragma once

#include <string>

#include "reglue/agent.h"
#include "reglue/options.h"

namespace reglue {

/// Plays a session until the glue says farewell; returns its words. A connection that breaks is
/// made again as long as the glue allows, and every call is carried out once. No signal is
/// handled: Ctrl-C is the program's own.
///
/// Throws Unreachable, Refused (WrongToken, WrongVersion, WrongTls, Busy), SessionLost,
/// UsageError, and whatever the agent throws, after the glue was told.
std::string connect(Agent& agent, Options options = {});

/// connect() for main(): what went wrong goes to stderr. `[ADDRESS [TOKEN]]` and `--transport
/// auto|grpc|unix` are taken from the command line. Returns the exit code: 0 after a farewell,
/// 1 if the agent failed or the glue was lost or cannot be reached, 2 for wrong usage or if
/// the glue refuses.
int run_agent(Agent& agent, int argc, char** argv, Options options = {});

}  // namespace reglue
