/// \file
/// What a program does at SIGINT (Ctrl-C) and SIGTERM (docker stop).
#pragma once

#include <functional>

#include "reglue/experiment.h"
#include "reglue/export.h"
#include "reglue/options.h"

namespace reglue {

/// While it lives, SIGINT and SIGTERM end what waits, in all of the process's sessions, and the
/// glue receives "interrupted"; the second signal ends the process at once. A signal that the
/// program handles or ignores by itself is left alone. run_agent(), run_environment() and
/// run_experiment() have one, unless Options::handle_signals is false.
class REGLUE_API HandledSignals {
 public:
  /// From now on the two signals are handled.
  HandledSignals() noexcept;
  /// The signals do again what they did before.
  ~HandledSignals();
  /// It is not copied.
  HandledSignals(const HandledSignals&) = delete;
  /// It is not assigned.
  HandledSignals& operator=(const HandledSignals&) = delete;

  /// The signal that has come to one of these in this process; 0: none.
  static int received() noexcept;

 private:
  bool handles_interrupt_;
  bool handles_termination_;
};

/// A benchmark program for main(): joins, calls `program`, leaves. Errors go to stderr. Takes the
/// command line and returns the exit code of run_agent(). The program calls routines as they wait:
/// an interrupted one throws Stopped.
REGLUE_API int run_experiment(const std::function<void(Experiment&)>& program, int argc,
                              char** argv, Options options = {});

}  // namespace reglue
