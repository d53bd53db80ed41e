#include "log.h"

#include <iostream>

namespace reglue {

Log log_of(const Options& options) {
  if (options.log) return options.log;
  return [](const std::string& line) { std::cerr << "reglue: " + line + "\n" << std::flush; };
}

}  // namespace reglue
