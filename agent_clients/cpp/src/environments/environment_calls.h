// Calls on an environment: which routine answers which message, and Plays, the most frequent ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "log.h"
#include "reglue/environment.h"
#include "reglue/v1/environment.pb.h"

namespace reglue {

/// Steps in some slots and starts in others, read from a message, which it views.
struct Play {
  /// Throws BadReply if it does not fit the session.
  Play(v1::Play& message, const TaskSpec& spec);
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  std::size_t rows() const { return step_slots.size() + cells.size(); }

  Span<const std::uint32_t> step_slots;
  ChosenActions actions;  // rows as `step_slots`; no tensors if nothing steps
  Cells cells;

 private:
  std::vector<Cell> cells_;
};

/// Plays it, and writes the result. If the environment throws, all slots of the Play have failed;
/// that is logged.
void play(Environment& environment, const Play& play, const TaskSpec& spec, v1::Played& played,
          const Log& log);

class EnvironmentCalls {
 public:
  EnvironmentCalls(Environment& environment, const Log& log)
      : environment_(environment), log_(log) {}

  /// Calls env_init(), and keeps the spec in the environment. Throws SpecError.
  static const TaskSpec& begin(Environment& environment, std::uint32_t slots);

  /// Reads the glue's call. Throws BadReply if this version does not know it, or it does not fit
  /// the TaskSpec.
  void read(v1::EnvironmentCall& call);

  /// Calls the routine and writes the answer, except its number. Answers a RoutineRefused by a
  /// Refusal; throws on what else the environment throws.
  void carry_out(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);

 private:
  void init(std::uint32_t slots, v1::EnvironmentReply& reply);
  void message(const std::string& text, v1::EnvironmentReply& reply);
  void routine(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);
  /// Throws OutOfDomain for an unknown slot.
  std::uint32_t checked(std::uint32_t slot) const;

  Environment& environment_;
  const Log& log_;
  bool has_begun_ = false;    // env_init was called
  std::optional<Play> play_;  // that was read
};

}  // namespace reglue
