#include "program.h"

#include <iostream>
#include <utility>

#include "reglue/errors.h"

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

}  // namespace

int run_program(const std::function<std::string(Options)>& play, int argc, char** argv,
                Options options) {
  const std::string program = argc > 0 ? argv[0] : "reglue";
  const std::string name = program.substr(program.find_last_of('/') + 1);
  try {
    std::cerr << name + ": " + play(with_arguments(std::move(options), argc, argv)) + "\n";
    return 0;
  } catch (const UsageError& error) {
    std::cerr << name + ": " + error.what() + "\n";
    return 2;
  } catch (const Refused& error) {
    std::cerr << name + ": " + error.what() + "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << name + ": " + error.what() + "\n";
    return 1;
  }
}

}  // namespace reglue
