// Texts: what protobuf takes, and what people may see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reglue {

inline constexpr std::size_t kMostFaultCharacters = 4096;
inline constexpr const char* kNoStdException = "something that is no std::exception was thrown";

/// Whether it is UTF-8.
bool is_utf8(std::string_view text);

/// The first `most` characters; bytes that are no UTF-8 become `?`.
std::string clean(std::string_view text, std::size_t most);

/// What a glue says, as it may be shown: printable(), of its first kMostFaultCharacters.
std::string told(std::string_view text);

}  // namespace reglue
