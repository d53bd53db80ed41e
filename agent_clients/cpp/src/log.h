// Lines for the author of a program: what happens to its session, and each call if REGLUE_TRACE
// asks for that.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "reglue/options.h"

namespace reglue {

/// Where lines go, from REGLUE_LOG's level on. printable() lines, as a glue's words may be in them.
class Log {
 public:
  /// To Options::log, else to stderr as `TIME reglue LEVEL: LINE`. Throws UsageError for an unknown
  /// level in REGLUE_LOG.
  explicit Log(const Options& options);

  void error(const std::string& line) const { write(Level::Error, line); }
  void warning(const std::string& line) const { write(Level::Warning, line); }
  void info(const std::string& line) const { write(Level::Info, line); }

 private:
  enum class Level { Error, Warning, Info };
  static Level wanted();
  void write(Level level, const std::string& line) const;

  Level most_;
  std::function<void(const std::string&)> to_;  // none: stderr
};

/// Writes a line on stderr for each call, if REGLUE_TRACE is 1:
/// `2026-11-24T11:20:01.234Z reglue call turn 118 bytes, answered by 24 bytes in 0.41 ms`.
class Trace {
 public:
  /// Throws UsageError if REGLUE_TRACE is other than 0, 1 or empty.
  Trace();

  bool is_on() const { return is_on_; }

  /// A call has come, or goes out.
  template <class Call>
  void begin(const Call& call) {
    if (is_on_) begin(name_of_call(call), call.ByteSizeLong());
  }
  /// Its answer has gone out, or has come.
  template <class Answer>
  void end(const Answer& answer) const {
    if (is_on_) end(answer.ByteSizeLong());
  }

  /// The field's name in the protocol: `turn`.
  template <class Call>
  static std::string name_of_call(const Call& call) {
    const auto* field = Call::descriptor()->FindFieldByNumber(static_cast<int>(call.call_case()));
    return field ? std::string(field->name()) : "unknown";
  }

 private:
  void begin(std::string name, std::size_t bytes);
  void end(std::size_t bytes) const;

  bool is_on_;
  std::string name_;
  std::size_t bytes_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

/// `2026-11-24T11:20:01.234Z`.
std::string timestamp(std::chrono::system_clock::time_point time);

}  // namespace reglue
