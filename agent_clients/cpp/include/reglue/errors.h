// Every error that Reglue throws, on one page.
//
// The branch says whose fault it is: the caller's (UsageError), a refused peer's (Refused), a
// message's that does not fit (BadReply), or the connection's (SessionLost, Unreachable). An
// error's text says what it got, what it wanted and what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace reglue {

/// `text` as a terminal may show it: without control characters, invisible characters and marks
/// of direction; line breaks and tabs stay. Bytes that are not UTF-8 become `?`.
std::string printable(std::string_view text);

/// Root of the tree. What it says may hold a glue's own words.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(printable(what)) {}
};

// The caller's.

/// A request that cannot be carried out; nothing changed.
class UsageError : public Error {
  using Error::Error;
};

/// A TaskSpec or TensorSpec that is malformed or contradicts itself.
class SpecError : public UsageError {
  using UsageError::UsageError;
};

/// A routine was refused; nothing changed. `code` is a name of the protocol's
/// RefusalCode without its prefix.
class RoutineRefused : public UsageError {
 public:
  RoutineRefused(std::string code, std::string got, std::string wanted)
      : UsageError("got " + got + ", wanted " + wanted),
        code(std::move(code)),
        got(std::move(got)),
        wanted(std::move(wanted)) {}

  std::string code, got, wanted;
};

/// A routine is not legal now; the message says what to call first.
class OutOfOrder : public RoutineRefused {
 public:
  OutOfOrder(std::string got, std::string wanted)
      : RoutineRefused("OUT_OF_ORDER", std::move(got), std::move(wanted)) {}
};

/// A key or state was not made by this glue or environment.
class UnknownKey : public RoutineRefused {
 public:
  UnknownKey(std::string got, std::string wanted)
      : RoutineRefused("UNKNOWN_KEY", std::move(got), std::move(wanted)) {}
};

/// The environment lacks an optional routine.
class NotSupported : public RoutineRefused {
 public:
  NotSupported(std::string got, std::string wanted)
      : RoutineRefused("NOT_SUPPORTED", std::move(got), std::move(wanted)) {}
};

/// An argument is outside its domain, such as an unknown slot.
class OutOfDomain : public RoutineRefused {
 public:
  OutOfDomain(std::string got, std::string wanted)
      : RoutineRefused("OUT_OF_DOMAIN", std::move(got), std::move(wanted)) {}
};

// The agent's and the environment's, as a benchmark program sees them.

/// The agent failed: the episodes of the routine's slots are over.
class AgentFault : public Error {
  using Error::Error;
};

/// The environment failed: the episodes of the routine's slots are void.
class EnvironmentFault : public Error {
  using Error::Error;
};

// The glue's answer to a peer that joins.

/// The glue refused the peer.
class Refused : public Error {
  using Error::Error;
};

/// The token is wrong.
class WrongToken : public Refused {
  using Refused::Refused;
};

/// The two sides speak different protocol versions.
class WrongVersion : public Refused {
  using Refused::Refused;
};

/// Only one side uses TLS, or the peer does not trust the glue's certificate.
class WrongTls : public Refused {
  using Refused::Refused;
};

/// All places of the role are taken.
class Busy : public Refused {
  using Refused::Refused;
};

// A message's.

/// A message does not fit the TaskSpec or its call. `code` is a name of the protocol's RefusalCode
/// without its prefix.
class BadReply : public Error {
 public:
  BadReply(std::string code, std::string got, std::string wanted)
      : Error("got " + got + ", wanted " + wanted),
        code(std::move(code)),
        got(std::move(got)),
        wanted(std::move(wanted)) {}

  std::string code, got, wanted;
};

// The connection's.

/// The glue went away in mid-session.
class SessionLost : public Error {
  using Error::Error;
};

/// No glue answered at the address in time.
class Unreachable : public Error {
  using Error::Error;
};

}  // namespace reglue
