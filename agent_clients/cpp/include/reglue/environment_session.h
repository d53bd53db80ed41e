/// \file
/// An environment's session without callbacks: the program asks for the next call and answers it.
/// The C library is built on it.
///
///     reglue::EnvironmentSession session(options, "my-world", 0);
///     while (const reglue::EnvironmentCall* call = session.next()) {
///       switch (call->kind) {
///         case reglue::EnvironmentCall::Kind::Init:
///           session.ready(spec(), traits());
///           break;
///         case reglue::EnvironmentCall::Kind::Play:
///           play(*call, session.outcome());
///           session.played();
///           break;
///         case reglue::EnvironmentCall::Kind::Message:
///           session.reply_message("…");
///           break;
///         default:
///           session.done();
///       }
///     }
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "reglue/environment.h"
#include "reglue/export.h"
#include "reglue/options.h"

namespace reglue {

/// One call. What it points to is valid until it is answered; the spec, until the next ready().
struct EnvironmentCall {
  /// Which routine the glue calls.
  enum class Kind {
    Init,
    Play,
    GetState,
    SetState,
    GetRandomSeed,
    SetRandomSeed,
    StandardizeRandomness,
    Message,
    Cleanup
  };

  Kind kind = Kind::Init;
  std::uint64_t seq = 0;
  std::uint32_t slots = 0;  ///< of Init
  ChosenActions actions;  ///< of Play: rows as `step_slots`; no tensors if none steps
  Span<const std::uint32_t> step_slots;  ///< of Play
  Cells cells;  ///< of Play: what begins
  std::uint32_t slot = 0;  ///< of the four of states and random seeds
  std::string_view snapshot;  ///< of SetState and SetRandomSeed
  std::uint64_t seed = 0;  ///< of StandardizeRandomness
  std::string_view text;  ///< of Message
  const TaskSpec* spec = nullptr;  ///< of the last ready(); null before it
};

/// What comes of a Play, written in place. Rows of observations: steps, then starts.
struct Outcome {
  Span<double> rewards;  ///< of steps, zeros until written
  Span<std::uint8_t> flags;  ///< of steps, bits of EpisodeFlag
  ShownObservations observations;
  std::map<std::uint32_t, std::string>* faults = nullptr;  ///< slot -> what failed there
};

/// For one thread at a time. Connects at the first next().
class REGLUE_API EnvironmentSession {
 public:
  /// `name` is for people, at most 200 characters; options.name goes first. `max_slots` is how
  /// many slots it plays at once, 0 for any number. Throws UsageError for an invalid address or
  /// authority.
  EnvironmentSession(const Options& options, const std::string& name, std::uint32_t max_slots);
  /// As close().
  ~EnvironmentSession();
  EnvironmentSession(EnvironmentSession&&) noexcept;
  /// Takes over another session; leaves the present one, as close() does.
  EnvironmentSession& operator=(EnvironmentSession&&) noexcept;

  /// Waits for the next call, without limit; null after the glue's farewell, or once stop() has
  /// been called. Every call comes once, whatever connections break, and fits the TaskSpec.
  /// Routines before the first Init, those that the traits do not promise and those of unknown
  /// slots are refused by themselves. Throws as AgentSession::next().
  const EnvironmentCall* next();

  /// As AgentSession::wait().
  bool wait(std::chrono::milliseconds limit);

  /// As AgentSession::stop().
  void stop() noexcept;

  /// Answers Init. Of the traits only tasks and what routines it has count; the spec's slots are
  /// filled in. Throws SpecError, and UsageError if the call is another.
  void ready(TaskSpec spec, const EnvironmentTraits& traits);
  /// What played() answers, to be written. Throws UsageError if the call is no Play.
  Outcome& outcome();
  /// Answers Play with outcome(). Throws UsageError if the call is another, or if the answer is too
  /// large for a message.
  void played();
  /// Answers GetState and GetRandomSeed. Throws UsageError likewise.
  void keep(std::string bytes);
  /// Answers the two sets, StandardizeRandomness and Cleanup. Throws UsageError for others.
  void done();
  /// Answers Message. Throws UsageError for others, and for what is no UTF-8.
  void reply_message(std::string text);
  /// Answers any call but Play: nothing has changed. Throws UsageError for Play.
  void refuse(const RoutineRefused& refused);

  /// Says that the environment cannot go on (at most 4096 characters), waits some seconds for the
  /// glue's farewell, and ends the session.
  void fault(std::string_view what);

  /// Leaves; before the farewell it sends a fault first.
  void close();

  /// As AgentSession::farewell().
  const std::string& farewell() const;

 private:
  std::unique_ptr<class EnvironmentConnection> connection_;
};

}  // namespace reglue
