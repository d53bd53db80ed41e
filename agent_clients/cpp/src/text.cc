#include "text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "reglue/errors.h"

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

/// The code point of one character in UTF-8.
char32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<std::uint8_t>(character[0]);
  char32_t point = static_cast<std::uint8_t>(character[0]) & (0x7F >> character.size());
  for (char byte : character.substr(1)) point = point << 6 | (byte & 0x3F);
  return point;
}

/// First and last of what printable() leaves out: the same in every client.
constexpr struct {
  char32_t first, last;
} kHidden[] = {
    {0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},
    {0x61C, 0x61C},   {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
};

bool is_hidden(std::string_view character) {
  const char32_t point = code_point(character);
  return std::any_of(std::begin(kHidden), std::end(kHidden), [point](const auto& range) {
    return range.first <= point && point <= range.last;
  });
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

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

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    if (bytes == 0) {
      result += '?';
    } else if (!is_hidden(text.substr(0, bytes))) {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes ? bytes : 1);
  }
  return result;
}

std::string glue_text(std::string_view text) { return printable(clean(text, kMaxFaultCharacters)); }

}  // namespace reglue
