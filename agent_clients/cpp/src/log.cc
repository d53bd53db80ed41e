#include "log.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <utility>

#include "reglue/errors.h"
#include "text.h"

namespace reglue {

namespace {

constexpr const char* kLevels[] = {"error", "warning", "info"};

void write_line(const std::string& line) {
  std::cerr << timestamp(std::chrono::system_clock::now()) + " reglue " + line + "\n" << std::flush;
}

}  // namespace

Log::Log(const Options& options) : most_(wanted()), to_(options.log) {}

Log::Level Log::wanted() {
  const std::string level = environment_variable("REGLUE_LOG");
  if (level.empty() || level == "warning") return Level::Warning;
  if (level == "error") return Level::Error;
  if (level == "info") return Level::Info;
  throw UsageError("got REGLUE_LOG=" + level + ", wanted error, warning or info");
}

void Log::write(Level level, const std::string& line) const {
  if (level > most_) return;
  if (to_) return to_(printable(line));
  write_line(kLevels[static_cast<int>(level)] + (": " + printable(line)));
}

Trace::Trace() {
  const std::string wanted = environment_variable("REGLUE_TRACE");
  if (!wanted.empty() && wanted != "0" && wanted != "1") {
    throw UsageError("got REGLUE_TRACE=" + wanted + ", wanted 1 or 0");
  }
  is_on_ = wanted == "1";
}

void Trace::begin(std::string name, std::size_t bytes) {
  name_ = std::move(name);
  bytes_ = bytes;
  begun_ = std::chrono::steady_clock::now();
}

void Trace::end(std::size_t bytes) const {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun_;
  char took_ms[32];
  std::snprintf(took_ms, sizeof took_ms, "%.2f ms", took.count());
  write_line("call " + name_ + " " + std::to_string(bytes_) + " bytes, answered by " +
             std::to_string(bytes) + " bytes in " + took_ms);
}

std::string timestamp(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::floor<milliseconds>(time.time_since_epoch());
  const std::time_t whole = std::chrono::floor<std::chrono::seconds>(since).count();
  std::tm utc{};
  gmtime_r(&whole, &utc);
  char text[sizeof "2026-11-24T11:20:01"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  const std::string ms = std::to_string(since.count() % 1000);
  return text + ("." + std::string(3 - ms.size(), '0')) + ms + "Z";
}

}  // namespace reglue
