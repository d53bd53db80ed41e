#include "log.h"

#include <iostream>

#include "reglue/errors.h"

namespace reglue {

Log log_of(const Options& options) {
  Log log = options.log;
  if (!log) {
    log = [](const std::string& line) { std::cerr << "reglue: " + line + "\n" << std::flush; };
  }
  return [log](const std::string& line) { log(printable(line)); };
}

}  // namespace reglue
