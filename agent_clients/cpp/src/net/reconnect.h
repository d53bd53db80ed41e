// What a peer needs to come back: how long it tries, and the answers that it remembers.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "net/lobby.h"
#include "net/streams.h"

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

template <class Reply>
class Remembered {
 public:
  /// The answer that is written next. It holds an old one, whose memory can be used again.
  Reply& next() { return answers_[next_].reply; }

  /// next() has become the answer to call `seq`.
  void keep(std::uint64_t seq) {
    answers_[next_].seq = seq;
    next_ = (next_ + 1) % kWindow;
  }

  /// The answer to call `seq`; null if it is not remembered.
  const Reply* find(std::uint64_t seq) const {
    for (const Answer& each : answers_) {
      if (seq > 0 && each.seq == seq) return &each.reply;
    }
    return nullptr;
  }

  void forget() {
    for (Answer& each : answers_) each.seq = 0;
  }

 private:
  static constexpr std::size_t kWindow = 8;  // as many calls may be under way at once

  struct Answer {
    std::uint64_t seq = 0;  // 0: none
    Reply reply;
  };

  std::array<Answer, kWindow> answers_;
  std::size_t next_ = 0;
};

}  // namespace reglue
