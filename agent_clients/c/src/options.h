// How a peer connects, from C's options.
#pragma once

#include <atomic>
#include <chrono>

#include "reglue.h"
#include "reglue/agent.h"
#include "reglue/options.h"

namespace reglue::c {

/// NULL is the same as zeros. `is_stopped`, if not null, stops the peer as reglue_set_stop does.
/// Throws UsageError for a transport or connect timeout out of its range.
Options options_of(const reglue_options* c_options, const std::atomic<bool>* is_stopped = nullptr);

/// Throws UsageError, which calls them `what`, unless they are 0 to 1e9.
std::chrono::milliseconds milliseconds_of(const char* what, double seconds);

/// Throws UsageError for unknown abilities.
AgentTraits traits_of(const reglue_options* c_options);

}  // namespace reglue::c
