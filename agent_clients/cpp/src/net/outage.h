// A lost connection, as the log reports it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "log.h"

namespace reglue {

/// Logs one line when the connection is lost and one when it is back, however many tries are
/// between.
class Outage {
 public:
  explicit Outage(const Log& log) : log_(log) {}

  /// A stream has ended, for `why`, and others are tried for `most`.
  void begin(const std::string& why, std::chrono::microseconds most) {
    if (begun_) return;
    begun_ = std::chrono::steady_clock::now();
    log_.warning("lost the connection, reconnecting for up to " + seconds(most) + ": " + why);
  }

  /// The glue does not know the session any more, and the peer joins again.
  void forget() {
    if (!is_forgotten_) log_.warning("the glue has forgotten this session; joining anew");
    is_forgotten_ = true;
  }

  /// The glue has admitted the peer.
  void end() {
    if (begun_) {
      log_.warning("connected again after " + seconds(std::chrono::steady_clock::now() - *begun_));
    }
    begun_.reset();
    is_forgotten_ = false;
  }

 private:
  template <class Duration>
  static std::string seconds(Duration time) {
    const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  }

  const Log& log_;
  std::optional<std::chrono::steady_clock::time_point> begun_;
  bool is_forgotten_ = false;
};

}  // namespace reglue
