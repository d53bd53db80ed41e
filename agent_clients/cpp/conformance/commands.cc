#include "commands.h"

#include <chrono>
#include <thread>

namespace reglue::conformance {

Commands::Commands(std::vector<std::string> routines) {
  for (std::string& routine : routines) counts_.emplace_back(std::move(routine), 0);
}

void Commands::count(const std::string& routine, std::uint64_t times) {
  for (auto& [name, number] : counts_) {
    if (name == routine) number += times;
  }
}

std::string Commands::answer(const std::string& message) const {
  const auto [command, argument] = parted(message, ' ');
  if (command == "counts") return counts();
  if (command == "echo") return argument;
  if (command == "sleep") {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoul(argument)));
  }
  if (command == "fail" && argument.empty()) throw ToldToFail();
  return "";
}

std::string Commands::counts() const {
  std::string json;
  for (const auto& [name, number] : counts_) {
    json += (json.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string(number);
  }
  return json + "}";
}

std::pair<std::string, std::string> parted(const std::string& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace reglue::conformance
