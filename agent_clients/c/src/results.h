// From C++ to C: every exception becomes a code and a message.
#pragma once

#include <string>
#include <utility>

namespace reglue::c {

inline constexpr const char* kGotNull = "got NULL, wanted somewhere to write or to read";

/// The code of the exception that is being handled; its words go to `message`.
int code_of_exception(std::string& message) noexcept;

/// Carries out `routine`; turns an exception into a code and `message`, which otherwise stays as it
/// is: an argument of `routine` may point to its text.
template <class Routine>
int guarded(std::string& message, Routine&& routine) noexcept {
  try {
    return std::forward<Routine>(routine)();
  } catch (...) {
    return code_of_exception(message);
  }
}

/// `text`, or "" for NULL.
inline std::string text_of(const char* text) { return text ? text : ""; }

}  // namespace reglue::c
