#include "options.h"

#include <atomic>
#include <csignal>
#include <mutex>

#include "reglue/errors.h"
#include "reglue/signals.h"
#include "results.h"

namespace reglue::c {
namespace {

constexpr reglue_options kUsual{};
constexpr double kLongest_s = 1e9;

Transport transport_of(std::int32_t transport) {
  switch (transport) {
    case REGLUE_AUTO: return Transport::Auto;
    case REGLUE_GRPC: return Transport::Grpc;
    case REGLUE_UNIX: return Transport::Unix;
  }
  throw UsageError("got transport " + std::to_string(transport) +
                   ", wanted REGLUE_AUTO, REGLUE_GRPC or REGLUE_UNIX");
}

/// What the whole process has set for handles that are made from now on.
struct Settings {
  std::mutex mutex;  // guards the others
  reglue_log log = nullptr;
  void* user = nullptr;
  std::string sdk;  // empty: this library's
  bool handles_signals = true;
};
Settings settings;

/// The program's flag; also those look at it that wait already.
std::atomic<const volatile std::sig_atomic_t*> stop_flag = nullptr;

std::function<void(const std::string&)> present_log() {
  const std::lock_guard<std::mutex> lock(settings.mutex);
  if (!settings.log) return {};
  return [log = settings.log, user = settings.user](const std::string& line) {
    log(line.c_str(), user);
  };
}

std::string present_sdk() {
  const std::lock_guard<std::mutex> lock(settings.mutex);
  return settings.sdk.empty() ? "reglue-c " REGLUE_VERSION : settings.sdk;
}

std::function<bool()> stop_of(const std::atomic<bool>* is_stopped) {
  return [is_stopped] {
    const volatile std::sig_atomic_t* stop = stop_flag;
    if (stop && *stop != 0) throw Stopped("interrupted");
    return is_stopped && *is_stopped;
  };
}

/// From the first handle on, unless the program handles signals itself.
void handle_signals() {
  const std::lock_guard<std::mutex> lock(settings.mutex);
  if (!settings.handles_signals) return;
  static const HandledSignals signals;
}

}  // namespace

std::chrono::milliseconds milliseconds_of(const char* what, double seconds) {
  if (!(seconds >= 0 && seconds <= kLongest_s)) {
    throw UsageError("got a " + std::string(what) + " of " + std::to_string(seconds) +
                     " s, wanted 0 to 1e9");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Options options_of(const reglue_options* c_options, const std::atomic<bool>* is_stopped) {
  const reglue_options& from = c_options ? *c_options : kUsual;
  Options options;
  options.address = text_of(from.address);
  options.token = text_of(from.token);
  options.ca = text_of(from.ca);
  options.tls_name = text_of(from.tls_name);
  options.name = text_of(from.name);
  options.sdk = present_sdk();
  options.log = present_log();
  handle_signals();
  options.stop = stop_of(is_stopped);
  options.transport = transport_of(from.transport);
  if (from.connect_timeout_s != 0) {
    options.connect_timeout = milliseconds_of("connect timeout", from.connect_timeout_s);
  }
  return options;
}

AgentTraits traits_of(const reglue_options* c_options) {
  const reglue_options& from = c_options ? *c_options : kUsual;
  const std::uint32_t known = REGLUE_PARTIAL_TURNS | REGLUE_ADAPTS | REGLUE_NO_ENDS;
  if (from.abilities & ~known) {
    throw UsageError("got abilities " + std::to_string(from.abilities) +
                     ", wanted bits of enum reglue_ability");
  }
  AgentTraits traits;
  traits.max_slots = from.max_slots;
  traits.partial_turns = from.abilities & REGLUE_PARTIAL_TURNS;
  traits.adapts = from.abilities & REGLUE_ADAPTS;
  traits.episodic = !(from.abilities & REGLUE_NO_ENDS);
  return traits;
}

}  // namespace reglue::c

void reglue_set_log(reglue_log log, void* user) {
  const std::lock_guard<std::mutex> lock(reglue::c::settings.mutex);
  reglue::c::settings.log = log;
  reglue::c::settings.user = user;
}

void reglue_set_sdk(const char* sdk) {
  const std::lock_guard<std::mutex> lock(reglue::c::settings.mutex);
  reglue::c::settings.sdk = sdk ? sdk : "";
}

void reglue_set_stop(const volatile std::sig_atomic_t* stop) { reglue::c::stop_flag = stop; }

void reglue_handle_signals(int handles) {
  const std::lock_guard<std::mutex> lock(reglue::c::settings.mutex);
  reglue::c::settings.handles_signals = handles != 0;
}
