// The session of a peer that asks: a benchmark program, one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "net/lobby.h"
#include "net/reconnect.h"
#include "net/streams.h"
#include "reglue/options.h"
#include "reglue/v1/experiment.pb.h"
#include "text.h"

namespace reglue {

/// Numbers calls and asks each until it is answered, over as many streams as it takes.
class ExperimentSession {
 public:
  /// Joins. Throws as Experiment().
  explicit ExperimentSession(const Options& options);
  /// Who leaves before the farewell says so.
  ~ExperimentSession() { leave(); }
  ExperimentSession(const ExperimentSession&) = delete;
  ExperimentSession& operator=(const ExperimentSession&) = delete;

  /// The reply to `call`, whose number is set here. Throws OutOfDomain for a call that is larger
  /// than a message may be, SessionLost, Refused. One that throws is the last, but for OutOfDomain.
  std::shared_ptr<v1::ExperimentReply> ask(v1::ExperimentCall& call);

  /// See Experiment.
  void set_timeout(std::chrono::milliseconds timeout);

  /// Says that no more will be asked, and ends the stream; over a new one if it broke.
  void leave();

  /// The glue's message does not fit: the session is over. Throws SessionLost.
  [[noreturn]] void lose(const std::string& why);

 private:
  /// The stream, or a new one. Throws StreamEnded, UsageError.
  Stream& opened();
  void receive(std::uint64_t seq, v1::ExperimentReply& reply, Clock::time_point until);
  /// Waits before the next try. Throws the end's meaning if it is too late.
  void reconnect(const StreamEnded& end, ReconnectWait& reconnect_wait, Clock::time_point until);

  const std::string name_;
  const std::chrono::milliseconds connect_timeout_;
  std::chrono::milliseconds timeout_ = std::chrono::hours(24);  // of one call
  const Log log_;
  Route route_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t answered_ = 0;  // number of the last call whose reply has come
  bool is_admitted_ = false;      // at the glue, which then is to be told that we leave
  std::string over_;            // why nothing more can be asked
};

}  // namespace reglue
