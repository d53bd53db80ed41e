// A benchmark program's session: one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "log.h"
#include "net/interrupt.h"
#include "net/join/lobby.h"
#include "net/outage.h"
#include "net/reconnect.h"
#include "net/streams/streams.h"
#include "reglue/options.h"
#include "reglue/v1/experiment.pb.h"

namespace reglue {

/// Numbers calls, and repeats each until it is answered, over as many streams as needed.
class ExperimentSession {
 public:
  /// Joins. Throws as Experiment().
  explicit ExperimentSession(const Options& options);
  /// As leave().
  ~ExperimentSession() { leave(); }
  ExperimentSession(const ExperimentSession&) = delete;
  ExperimentSession& operator=(const ExperimentSession&) = delete;

  /// Sets the call's number, and returns its reply. Throws OutOfDomain for a call that is too
  /// large for a message, SessionLost, Refused, Stopped; the session is over then, except for
  /// OutOfDomain.
  std::shared_ptr<v1::ExperimentReply> ask(v1::ExperimentCall& call);

  /// See Experiment.
  void set_timeout(std::chrono::milliseconds timeout);

  /// Says farewell, over a new stream if it broke, and ends the stream.
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
  const std::string sdk_;
  const std::chrono::milliseconds connect_timeout_;
  std::chrono::milliseconds timeout_ = std::chrono::hours(24);  // of one call
  const Log log_;
  Trace trace_;
  Interrupt interrupt_;
  Outage outage_{log_};
  Route route_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t answered_ = 0;  // number of the last call whose reply has come
  bool is_admitted_ = false;      // by the glue, which must learn when we leave
  std::string over_;            // why the session is over; empty while it is not
};

}  // namespace reglue
