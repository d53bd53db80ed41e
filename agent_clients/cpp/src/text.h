// Texts that protobuf accepts, and texts that are safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reglue {

inline constexpr std::size_t kMaxFaultCharacters = 4096;
inline constexpr const char* kNoStdException = "something that is no std::exception was thrown";

/// The environment's variable of that name; empty if it is not set.
std::string environment_variable(const char* name);

/// Whether `text` is UTF-8.
bool is_utf8(std::string_view text);

/// The first `most` characters; bytes that are no UTF-8 become `?`.
std::string clean(std::string_view text, std::size_t most);

/// The first kMaxFaultCharacters of a glue's text, as printable() shows them.
std::string glue_text(std::string_view text);

}  // namespace reglue
