/// \file
/// An agent's session without callbacks: the program asks for the next call and answers it.
/// The library's `connect` and the C library are built on it.
///
///     reglue::AgentSession session(options, traits);
///     while (const reglue::AgentCall* call = session.next()) {
///       switch (call->kind) {
///         case reglue::AgentCall::Kind::Turn: fill(session.actions()); session.act(); break;
///         case reglue::AgentCall::Kind::Message: session.reply_message("…"); break;
///         default: session.done();
///       }
///     }
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "reglue/agent.h"
#include "reglue/export.h"
#include "reglue/options.h"

namespace reglue {

/// One call. What it points to is valid until it is answered; the spec, until the next Init.
struct AgentCall {
  /// Which routine the glue calls.
  enum class Kind { Init, Turn, Freeze, AdaptBegin, Adapt, Message, Cleanup };

  Kind kind = Kind::Init;
  std::uint64_t seq = 0;
  Budget budget;
  const TaskSpec* spec = nullptr;  ///< of the last Init; null before it
  Turn turn;                       ///< of Kind::Turn
  std::string_view text;           ///< of Kind::Message
};

/// For one thread at a time. Connects at the first next().
class REGLUE_API AgentSession {
 public:
  /// Throws UsageError for an invalid address or authority.
  AgentSession(Options options, AgentTraits traits);
  /// As close().
  ~AgentSession();
  AgentSession(AgentSession&&) noexcept;
  /// Takes over another session; leaves the present one, as close() does.
  AgentSession& operator=(AgentSession&&) noexcept;

  /// Waits for the next call, without limit; null after the glue's farewell, or once stop() has
  /// been called. Every call comes once, whatever connections break, and fits the TaskSpec. Throws
  /// as connect(Agent&, Options), and the session is over then; UsageError if the last call was not
  /// answered yet, SessionLost if the session is over without a farewell.
  const AgentCall* next();

  /// Waits for up to `limit`: true if next() returns or throws at once, false if nothing has come;
  /// call either again then. A connection that is being made may take seconds longer. Throws as
  /// next().
  bool wait(std::chrono::milliseconds limit);

  /// Stops the session from outside: next() tells the glue, waits up to 2 s for its farewell, and
  /// returns null. It stops waiting within 0.1 s, or some
  /// seconds if a connection is being made. Signal handlers and other threads may call this,
  /// as long as the session stays where it is.
  void stop() noexcept;

  /// What act() answers, to be written; zeros until then. Throws UsageError if the call is no Turn.
  Actions& actions();
  /// Answers a Turn with actions(). Throws UsageError if the call is no Turn, or if the answer is
  /// too large for a message.
  void act();
  /// Answers Init, Freeze, AdaptBegin, Adapt and Cleanup. Throws UsageError for others.
  void done();
  /// Answers Message. Throws UsageError for others.
  void reply_message(std::string_view text);

  /// Says that the agent cannot go on (at most 4096 characters), waits some seconds for the
  /// glue's farewell, and ends the session.
  void fault(std::string_view what);

  /// Leaves; before the farewell it sends a fault first.
  void close();

  /// The glue's last text, or that the program has stopped the session, once next() has returned
  /// null.
  const std::string& farewell() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reglue
