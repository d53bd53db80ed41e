// What a peer needs to reconnect: how long it tries, and the answers that it remembers.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "net/join/lobby.h"
#include "net/streams/streams.h"

namespace reglue {

/// Whether a stream was good: it brought a new call (`has_new_call`), or the glue had admitted the
/// peer for a second (`admitted`). Less proves nothing: a call may break every stream that carries
/// it.
inline bool was_good(Clock::duration admitted, bool has_new_call) {
  return has_new_call || admitted >= std::chrono::seconds(1);
}

/// Counts from the end of the last good stream.
class ReconnectWait {
 public:
  /// A good stream has ended: the time begins anew with the next pause.
  void restart() { since_.reset(); }

  /// How long to wait before the next try; none if that is later than `most` after the first
  /// pause.
  std::optional<std::chrono::duration<double>> pause(Clock::duration most) {
    const Clock::time_point now = Clock::now();
    if (!since_) {
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
  /// The answer to write next. It holds an old one, whose memory is reused.
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
