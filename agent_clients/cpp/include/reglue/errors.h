/// \file
/// Every error that Reglue throws, on one page.
///
/// The branch says whose fault it is: the caller's (UsageError), a refused peer's (Refused), a
/// message's that does not fit (BadReply), or the connection's (SessionLost, Unreachable). An
/// error's text says what it got, what it wanted and what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "reglue/export.h"

namespace reglue {

/// `text` as a terminal may show it: without control characters, invisible characters and marks
/// of direction; line breaks and tabs stay. Bytes that are not UTF-8 become `?`.
REGLUE_API std::string printable(std::string_view text);

/// Root of the tree. Its text may contain text of the glue.
class REGLUE_API Error : public std::runtime_error {
 public:
  /// Stores `what` as printable() shows it.
  explicit Error(const std::string& what) : std::runtime_error(printable(what)) {}
};

// The caller's.

/// A request that cannot be carried out; nothing changed.
class REGLUE_API UsageError : public Error {
  using Error::Error;
};

/// A TaskSpec or TensorSpec that is malformed or contradicts itself.
class REGLUE_API SpecError : public UsageError {
  using UsageError::UsageError;
};

/// A routine was refused; nothing changed. `code` is a name of the protocol's
/// RefusalCode without its prefix.
class REGLUE_API RoutineRefused : public UsageError {
 public:
  /// The text says what it got and wanted.
  RoutineRefused(std::string code, std::string got, std::string wanted)
      : UsageError("got " + got + ", wanted " + wanted),
        code(std::move(code)),
        got(std::move(got)),
        wanted(std::move(wanted)) {}

  std::string code, got, wanted;
};

/// A routine is not legal now; the message says what to call first.
class REGLUE_API OutOfOrder : public RoutineRefused {
 public:
  /// Its code is OUT_OF_ORDER.
  OutOfOrder(std::string got, std::string wanted)
      : RoutineRefused("OUT_OF_ORDER", std::move(got), std::move(wanted)) {}
};

/// A key or state was not made by this glue or environment.
class REGLUE_API UnknownKey : public RoutineRefused {
 public:
  /// Its code is UNKNOWN_KEY.
  UnknownKey(std::string got, std::string wanted)
      : RoutineRefused("UNKNOWN_KEY", std::move(got), std::move(wanted)) {}
};

/// The environment lacks an optional routine.
class REGLUE_API NotSupported : public RoutineRefused {
 public:
  /// Its code is NOT_SUPPORTED.
  NotSupported(std::string got, std::string wanted)
      : RoutineRefused("NOT_SUPPORTED", std::move(got), std::move(wanted)) {}
};

/// An argument is outside its domain, such as an unknown slot.
class REGLUE_API OutOfDomain : public RoutineRefused {
 public:
  /// Its code is OUT_OF_DOMAIN.
  OutOfDomain(std::string got, std::string wanted)
      : RoutineRefused("OUT_OF_DOMAIN", std::move(got), std::move(wanted)) {}
};

// The agent's and the environment's, as a benchmark program sees them.

/// The agent failed: the episodes of the routine's slots are over.
class REGLUE_API AgentFault : public Error {
  using Error::Error;
};

/// The environment failed: the episodes of the routine's slots are void.
class REGLUE_API EnvironmentFault : public Error {
  using Error::Error;
};

// The glue's answer to a peer that joins.

/// The glue refused the peer.
class REGLUE_API Refused : public Error {
  using Error::Error;
};

/// The token is wrong.
class REGLUE_API WrongToken : public Refused {
  using Refused::Refused;
};

/// The two sides speak different protocol versions.
class REGLUE_API WrongVersion : public Refused {
  using Refused::Refused;
};

/// Only one side uses TLS, or the peer does not trust the glue's certificate.
class REGLUE_API WrongTls : public Refused {
  using Refused::Refused;
};

/// All places of the role are taken.
class REGLUE_API Busy : public Refused {
  using Refused::Refused;
};

// A message's.

/// A message does not fit the TaskSpec or its call. `code` is a name of the protocol's RefusalCode
/// without its prefix.
class REGLUE_API BadReply : public Error {
 public:
  /// The text says what it got and wanted.
  BadReply(std::string code, std::string got, std::string wanted)
      : Error("got " + got + ", wanted " + wanted),
        code(std::move(code)),
        got(std::move(got)),
        wanted(std::move(wanted)) {}

  std::string code, got, wanted;
};

// The connection's.

/// The glue went away in mid-session.
class REGLUE_API SessionLost : public Error {
  using Error::Error;
};

/// No glue answered at the address in time.
class REGLUE_API Unreachable : public Error {
  using Error::Error;
};

// A stop by the program.

/// Options::stop has become true in a routine of Experiment, or a signal has come that
/// HandledSignals handles; the session is over.
class REGLUE_API Stopped : public Error {
  using Error::Error;
};

}  // namespace reglue
