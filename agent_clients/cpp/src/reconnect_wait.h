// How long a peer whose stream broke tries to come back.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "lobby.h"
#include "streams.h"

namespace reglue {

/// From the last stream that was any good, until nobody waits any more.
class ReconnectWait {
 public:
  /// How long to wait before the next stream; none if it is too late for one, `most` after the
  /// absence began.
  ///
  /// The last stream was good, and the absence begins with its end, if something new was heard on
  /// it (`has_heard`) or it stood for a second with this peer seated (`stood`). Less proves
  /// nothing: a call may break every stream that it comes over.
  std::optional<std::chrono::duration<double>> pause(Clock::duration most, Clock::duration stood,
                                                     bool has_heard) {
    const Clock::time_point now = Clock::now();
    if (!since_ || has_heard || stood >= std::chrono::seconds(1)) {
      since_ = now;
      pauses_ = Backoff();
    }
    const auto pause = pauses_.next();
    if (now + pause > *since_ + most) return std::nullopt;
    return pause;
  }

 private:
  Deadline since_;
  Backoff pauses_;
};

}  // namespace reglue
