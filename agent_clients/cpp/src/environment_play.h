// A Play and what became of it, to and from their messages: what travels most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "log.h"
#include "reglue/environment.h"
#include "reglue/v1/environment.pb.h"

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

}  // namespace reglue
