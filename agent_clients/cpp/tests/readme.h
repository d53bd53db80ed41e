// The vectors of proto/README.md: blocks of a name, as ```text hello.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace reglue::tests {

/// The lines of a block, each with its end.
inline std::string block(const std::string& name) {
  std::ifstream readme(REGLUE_PROTO_DIR "/README.md");
  const std::string fence = "```";
  std::string lines;
  bool is_inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (is_inside && line == fence) return lines;
    if (is_inside) lines += line + "\n";
    if (line == fence + name) is_inside = true;
  }
  throw std::runtime_error("proto/README.md has no block " + name);
}

/// A block of `key   value` lines.
inline std::map<std::string, std::string> entries(const std::string& name) {
  std::istringstream lines(block(name));
  std::map<std::string, std::string> entries;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t key = line.find(' ');
    entries[line.substr(0, key)] = line.substr(line.find_first_not_of(' ', key));
  }
  return entries;
}

/// The bytes of hexadecimal digits, without what follows a `#`.
inline std::string bytes(const std::string& hex) {
  std::istringstream lines(hex);
  std::string content, digits;
  for (std::string line; std::getline(lines, line);) {
    for (const char c : line.substr(0, line.find('#'))) {
      if (c == ' ') continue;
      digits += c;
      if (digits.size() < 2) continue;
      content += static_cast<char>(std::stoi(digits, nullptr, 16));
      digits.clear();
    }
  }
  return content;
}

}  // namespace reglue::tests
