// How a peer that waits learns that it should stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "reglue/errors.h"
#include "reglue/signals.h"

namespace reglue {

/// What a peer says that a signal ends.
inline constexpr const char* kInterrupted = "interrupted";
/// For how long it waits until that has arrived.
inline constexpr std::chrono::milliseconds kArrives{50};

/// Whether a signal ends the peer, which leaves for that reason.
inline bool is_interrupted(std::string_view why) {
  return HandledSignals::received() != 0 || why == kInterrupted;
}

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // nullopt: no limit

/// `limit`, as no clock overflows by it: 0 to a year.
inline std::chrono::milliseconds limited(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kNone{0}, kYear{std::chrono::hours(24 * 365)};
  return std::clamp(limit, kNone, kYear);
}

/// Whether stop(), Options::stop or a signal has requested a stop. A signal handler can wake no
/// wait of gRPC's, so every wait looks here twenty times a second.
class Interrupt {
 public:
  /// Checks `is_stopped` too, if there is one.
  explicit Interrupt(std::function<bool()> is_stopped = {}) : is_stopped_(std::move(is_stopped)) {}

  /// Safe in signal handlers and other threads.
  void request() noexcept { is_requested_ = true; }
  /// From now on the peer leaves, and waits for the farewell undisturbed.
  void disable() noexcept { is_enabled_ = false; }

  /// Throws Stopped if it was requested.
  void check() const {
    if (!is_enabled_) return;
    if (HandledSignals::received() != 0) throw Stopped(kInterrupted);
    if (is_requested_ || (is_stopped_ && is_stopped_()))
      throw Stopped("the program has stopped the session");
  }

  /// When a wait until `until` is to look again.
  static Clock::time_point slice(const Deadline& until) {
    const Clock::time_point next = Clock::now() + std::chrono::milliseconds(50);
    return until ? std::min(*until, next) : next;
  }

  /// Sleeps until `time`; false if `until` comes first. Throws Stopped.
  bool sleep(Clock::time_point time, const Deadline& until) const {
    const Clock::time_point end = until ? std::min(*until, time) : time;
    for (check(); Clock::now() < end; check()) std::this_thread::sleep_until(slice(end));
    return end == time;
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers store it");
  const std::function<bool()> is_stopped_;
  std::atomic<bool> is_requested_ = false;
  bool is_enabled_ = true;
};

}  // namespace reglue
