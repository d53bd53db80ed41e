/// \file
/// One exchange over many episodes: a Turn, and the Actions that answer it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reglue/span.h"
#include "reglue/tensors.h"

namespace reglue {

/// What episodes are for; numbered as on the wire.
enum class Phase : std::uint8_t { Train = 1, Adapt = 2, Evaluate = 3 };

/// How an episode ended; numbered as on the wire.
enum class EndKind : std::uint8_t {
  Terminated = 1,  ///< the task ended: do not bootstrap
  Truncated = 2,   ///< time ran out: bootstrap from the last observation
  Void = 3,        ///< the environment failed: the episode does not count
};

/// Bits: what the glue did with the action before.
enum ActionFlag : std::uint8_t {
  Defaulted = 1,  ///< no action came in time; a default was played
  Clipped = 2,    ///< the action was outside its bounds
};

/// Time left, microseconds, by the glue's clock; nullopt: no limit.
struct Budget {
  std::optional<std::uint64_t> step_us;   ///< for this call
  std::optional<std::uint64_t> bank_us;   ///< extra time that slow calls may use
  std::optional<std::uint64_t> adapt_us;  ///< for all adaptation calls of this wave
  std::optional<std::uint64_t> run_us;    ///< for the whole run
};

/// Episodes that ended: their slots and, for each, how.
struct Ends {
  Span<const std::uint32_t> slots;
  Span<const EndKind> kinds;
  /// How many episodes ended.
  std::size_t size() const { return slots.size(); }
};

/// Episodes that continue: their slots and, for each, bits of ActionFlag.
struct Steps {
  Span<const std::uint32_t> slots;
  Span<const std::uint8_t> flags;
  /// How many episodes continue.
  std::size_t size() const { return slots.size(); }
};

/// Episodes that begin: their slots and, for each, a seed for the agent's own random numbers.
struct Starts {
  Span<const std::uint32_t> slots;
  Span<const std::uint64_t> seeds;
  /// How many episodes begin.
  std::size_t size() const { return slots.size(); }
};

using Rewards = Span<const double>;  ///< of the actions before, unclipped; NaN where withheld

/// Rows of observations are ends, then steps, then starts. Its views are valid until the turn is
/// answered.
struct Turn {
  Phase phase = Phase::Train;
  Ends ends;
  Steps steps;
  Starts starts;
  Rewards rewards;  ///< rows: ends, then steps
  Observations observations;
};

/// The answer to a Turn, written in place: rows for its steps, then its starts, zeros until
/// written. One tensor for each of TaskSpec.actions, by place or by name.
class Actions : public BasicTensors<std::byte> {
 public:
  /// As the session makes them; a slot that is abandoned is added to `abandoned`.
  Actions() = default;
  Actions(BasicTensors<std::byte> tensors, std::vector<std::uint32_t>& abandoned)
      : BasicTensors(std::move(tensors)), abandoned_(&abandoned) {}

  /// Abandons a slot's episode: its row is ignored, it counts as played and failed, and no end
  /// follows.
  void abandon(std::uint32_t slot) { abandoned_->push_back(slot); }

  /// `count` rows from `first` on.
  Actions part(std::size_t first, std::size_t count) const {
    return {BasicTensors::part(first, count), *abandoned_};
  }

 private:
  std::vector<std::uint32_t>* abandoned_ = nullptr;
};

}  // namespace reglue
