#include "program.h"

#include <iostream>
#include <optional>
#include <utility>

#include "reglue/errors.h"
#include "reglue/signals.h"
#include "text.h"

namespace reglue {

namespace {

Transport transport_of(const std::string& word) {
  if (word == "auto") return Transport::Auto;
  if (word == "grpc") return Transport::Grpc;
  if (word == "unix") return Transport::Unix;
  throw UsageError("got transport '" + word + "', wanted auto, grpc or unix");
}

Options with_arguments(Options options, int argc, char** argv) {
  int places = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--transport" && i + 1 < argc) {
      options.transport = transport_of(argv[++i]);
    } else if (word.empty() || word[0] == '-' || places > 1) {
      throw UsageError("got '" + word + "', wanted [ADDRESS [TOKEN]] [--transport auto|grpc|unix]");
    } else {
      (places++ ? options.token : options.address) = word;
    }
  }
  return options;
}

/// As shells say of a program that a signal ended; 0 if none came.
int exit_code_of_signal() {
  const int signal = HandledSignals::received();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace

int run_program(const Playing& play, int argc, char** argv, Options options) {
  const std::string program = argc > 0 ? argv[0] : "reglue";
  const std::string name = program.substr(program.find_last_of('/') + 1);
  const auto say = [&](const std::string& words) { std::cerr << name + ": " + words + "\n"; };
  bool has_failed = false;
  std::optional<HandledSignals> signals;
  if (options.handle_signals) signals.emplace();
  try {
    const std::string farewell = play(with_arguments(std::move(options), argc, argv), has_failed);
    if (!farewell.empty()) say(farewell);
    return signals ? exit_code_of_signal() : 0;
  } catch (const Stopped& stopped) {
    say(stopped.what());
    return exit_code_of_signal();
  } catch (const UsageError& error) {
    say(error.what());
  } catch (const Refused& error) {
    say(error.what());
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  } catch (...) {
    say(kNoStdException);
    return 1;
  }
  return has_failed ? 1 : 2;
}

}  // namespace reglue
