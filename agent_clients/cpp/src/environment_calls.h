// Carries out a call on an environment: which routine answers which message.
#pragma once

#include <optional>

#include "environment_play.h"
#include "log.h"
#include "reglue/environment.h"
#include "reglue/v1/environment.pb.h"

namespace reglue {

class EnvironmentCalls {
 public:
  EnvironmentCalls(Environment& environment, const Log& log)
      : environment_(environment), log_(log) {}

  /// Looks at what the glue sent. Throws BadReply for what this version does not know or what
  /// fits no TaskSpec.
  void read(v1::EnvironmentCall& call);

  /// Calls the routine and writes the answer, but for its number. A refused routine is
  /// answered by a Refusal and changes nothing; whatever else the environment throws is passed
  /// on.
  void carry_out(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);

 private:
  void init(std::uint32_t slots, v1::EnvironmentReply& reply);
  void message(const std::string& text, v1::EnvironmentReply& reply);
  void routine(const v1::EnvironmentCall& call, v1::EnvironmentReply& reply);
  /// Throws OutOfDomain where there is none.
  std::uint32_t checked(std::uint32_t slot) const;

  Environment& environment_;
  const Log& log_;
  bool has_begun_ = false;    // whether there was an env_init
  std::optional<Play> play_;  // that was read
};

}  // namespace reglue
