// Calls on an environment: which routine answers which message, and a Play, which travels most.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reglue/environment.h"
#include "reglue/v1/environment.pb.h"
#include "text.h"

namespace reglue {

/// Steps in some slots and starts in others, read from a message, which it views.
struct Play {
  /// Throws BadReply for one that no Play of this session can be.
  Play(v1::Play& message, const TaskSpec& spec);
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  std::size_t rows() const { return step_slots.size() + cells.size(); }

  Span<const std::uint32_t> step_slots;
  ChosenActions actions;  // rows as `step_slots`; no tensors where nothing steps
  Cells cells;

 private:
  std::vector<Cell> cells_;
};

/// Plays it, and writes what became of it. What the environment throws is the fault of all of
/// the play's slots, and is logged.
void play(Environment& environment, const Play& play, const TaskSpec& spec, v1::Played& played,
          const Log& log);

class EnvironmentCalls {
 public:
  EnvironmentCalls(Environment& environment, const Log& log)
      : environment_(environment), log_(log) {}

  /// Looks at what the glue sent. Throws BadReply for what this version does not know or what
  /// fits no TaskSpec.
  void read(v1::EnvironmentCall& call);

  /// Calls the routine and writes the answer, but for its number. A refused routine is
  /// answered by a Refusal and changes nothing; whatever else the environment throws is passed
  /// on.
  void carry_out(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);

 private:
  void init(std::uint32_t slots, v1::EnvironmentReply& reply);
  void message(const std::string& text, v1::EnvironmentReply& reply);
  void routine(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);
  /// Throws OutOfDomain where there is none.
  std::uint32_t checked(std::uint32_t slot) const;

  Environment& environment_;
  const Log& log_;
  bool has_begun_ = false;    // whether there was an env_init
  std::optional<Play> play_;  // that was read
};

}  // namespace reglue
