#include "adaptive_spin.h"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace reglue {

namespace {

constexpr int kMostRests = 1024;

/// On which this process may run.
int cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

AdaptiveSpin::AdaptiveSpin() : penalty_(cores() > 1 ? 1 : 0) {}

bool AdaptiveSpin::pays() {
  if (rests_ == 0) return penalty_ > 0;
  --rests_;
  return false;
}

void AdaptiveSpin::missed() {
  rests_ = penalty_;
  penalty_ = std::min(2 * penalty_, kMostRests);
}

}  // namespace reglue
