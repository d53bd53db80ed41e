// How long to look for an answer before sleeping until it comes.
#pragma once

#include <chrono>

namespace reglue {

/// As long as a turn of a light agent takes: waking up from sleep would double it.
inline constexpr std::chrono::microseconds kSpin{200};

/// Whether looking pays, learnt from how it went.
///
/// Looking keeps a core busy. It is done only where this process may run on two cores or more,
/// and only as long as messages come within kSpin: one that came too late makes the next waits
/// sleep at once, twice as many each time that it happens again.
class AdaptiveSpin {
 public:
  AdaptiveSpin();

  /// Whether to look before sleeping, this time.
  bool pays();
  /// It came while one looked.
  void hit() { penalty_ = 1; }
  /// It did not.
  void missed();

 private:
  int rests_ = 0;  // waits that sleep at once
  int penalty_;    // 0: never
};

}  // namespace reglue
