// An environment's session at a glue: its messages are calls, and answers to them.
#pragma once

#include "environments/environment_codec.h"
#include "net/answering_session.h"

namespace reglue {

struct EnvironmentWire {
  using Call = v1::EnvironmentCall;
  using Reply = v1::EnvironmentReply;
  static constexpr v1::Role role = v1::ROLE_ENVIRONMENT;
  static constexpr const char* method = "/reglue.v1.EnvironmentService/Session";
  static void reuse(Call& call) { call.Clear(); }
};

class EnvironmentConnection {
 public:
  EnvironmentConnection(const Options& options, const std::string& name, std::uint32_t max_slots);

  /// The next call that is not refused by itself; null after the farewell.
  const EnvironmentCall* next();

  /// Waits until next() returns or throws at once; false if `until` comes first.
  bool wait(const Deadline& until);

  /// Sends the answer of the codec. Throws UsageError, and the call is still to be answered, if it
  /// is larger than a message may be.
  void answer();

  void stop() noexcept { session_.stop(); }
  void fault(std::string_view what);
  void close();
  const std::string& farewell() const { return session_.farewell(); }
  const Log& log() const { return session_.log(); }
  EnvironmentCodec& codec() { return codec_; }

 private:
  AnsweringSession<EnvironmentWire> session_;
  EnvironmentCodec codec_;
  bool has_call_ = false;  // the codec's, which next() returns
};

}  // namespace reglue
