// Carries out a call on an environment: which routine answers which call.
#pragma once

#include "environments/environment_codec.h"
#include "text.h"

namespace reglue {

class EnvironmentCalls {
 public:
  EnvironmentCalls(Environment& environment, EnvironmentCodec& codec, const Log& log)
      : environment_(environment), codec_(codec), log_(log) {}

  /// Calls the routine for the codec's call, and gives the codec its answer. If the environment
  /// throws in a Play, all slots of it have failed; that is logged. Answers a RoutineRefused by a
  /// refusal; throws on what else the environment throws.
  void carry_out();

 private:
  void init(std::uint32_t slots);
  void play(const EnvironmentCall& call);
  void routine(const EnvironmentCall& call);

  Environment& environment_;
  EnvironmentCodec& codec_;
  const Log& log_;
};

}  // namespace reglue
