// What people should know and no error says.
#pragma once

#include <functional>
#include <string>

#include "reglue/options.h"

namespace reglue {

using Log = std::function<void(const std::string&)>;

/// As the options say, else lines on stderr; printable() lines, as a glue's words may be in them.
Log log_of(const Options& options);

}  // namespace reglue
