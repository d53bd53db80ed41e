#include "text.h"

#include <cstdint>

namespace reglue {

namespace {

/// Bytes of the character that `text` begins with, 0 if it is none: the table of RFC 3629.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t index) -> std::uint8_t {
    return index < text.size() ? static_cast<std::uint8_t>(text[index]) : 0;
  };
  const auto goes_on = [&](std::size_t index) { return (byte(index) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return goes_on(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_legal = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F);
    return is_legal && goes_on(1) && goes_on(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_legal = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    return is_legal && goes_on(1) && goes_on(2) && goes_on(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string clean(std::string_view text, std::size_t most) {
  std::string cleaned;
  for (; !text.empty() && most > 0; --most) {
    const std::size_t bytes = character(text);
    cleaned += bytes ? text.substr(0, bytes) : "?";
    text.remove_prefix(bytes ? bytes : 1);
  }
  return cleaned;
}

}  // namespace reglue
