// A Turn out of its message: what travels most, so nothing is done twice.
#pragma once

#include <vector>

#include "reglue/turn.h"
#include "reglue/v1/agent.pb.h"

namespace reglue {

/// Memory of what a Turn does not show in the message itself.
struct TurnRoom {
  std::vector<EndKind> kinds;
  std::vector<std::uint8_t> flags;
  std::vector<double> withheld;
};

/// Views of `message` and `room`, which must outlive them. Throws BadReply for what no turn of
/// this task can be, or whose answer would be larger than `max_message_bytes`, before anything
/// of its size is made.
Turn decode_turn(v1::Turn& message, const TaskSpec& spec, TurnRoom& room,
                 std::size_t max_message_bytes);

}  // namespace reglue
