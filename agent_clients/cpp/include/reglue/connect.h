/// \file
/// Plays an agent at a glue.
#pragma once

#include <string>

#include "reglue/agent.h"
#include "reglue/export.h"
#include "reglue/options.h"

namespace reglue {

/// Plays a session until the glue's farewell; returns its text. Reconnects when a connection
/// breaks, as long as the glue allows; every call is carried out once. Handles no signals:
/// HandledSignals does, or a handler of the program's own that sets what Options::stop reads.
///
/// Throws Unreachable, Refused (WrongToken, WrongVersion, WrongTls, Busy), SessionLost,
/// UsageError, and what the agent throws, after telling the glue.
REGLUE_API std::string connect(Agent& agent, Options options = {});

/// connect(Agent&, Options) for main(): errors go to stderr. Takes `[ADDRESS [TOKEN]]` and
/// `--transport auto|grpc|unix` from the command line. Returns the exit code: 0 after a farewell or
/// a stop, 1 if the agent failed or the glue was lost or cannot be reached, 2 for wrong usage or if
/// the glue refuses, 130 after SIGINT (Ctrl-C) and 143 after SIGTERM, which the glue learns of;
/// see Options::handle_signals. A signal waits while a routine computes, and the second one does
/// not.
REGLUE_API int run_agent(Agent& agent, int argc, char** argv, Options options = {});

}  // namespace reglue
