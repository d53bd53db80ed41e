// What the conformance programs answer to messages.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace reglue::conformance {

/// The kit wants to see how a failure is passed on.
class ToldToFail : public std::runtime_error {
 public:
  ToldToFail() : std::runtime_error("told to fail") {}
};

/// Counts of routines, and the commands that need nothing else.
class Commands {
 public:
  explicit Commands(std::vector<std::string> routines);

  /// A routine was carried out, or had so many rows.
  void count(const std::string& routine, std::uint64_t times = 1);

  /// To `counts`, `echo TEXT`, `sleep MS` and `fail`; nothing to any other. Throws ToldToFail.
  std::string answer(const std::string& message) const;

 private:
  std::string counts() const;  // a JSON object

  std::vector<std::pair<std::string, std::uint64_t>> counts_;
};

/// The text up to the first `separator`, and what follows it; nothing where there is none.
std::pair<std::string, std::string> parted(const std::string& text, char separator);

}  // namespace reglue::conformance
