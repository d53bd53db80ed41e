// An environment's calls and answers, from and to their messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reglue/environment_session.h"
#include "reglue/v1/environment.pb.h"

namespace reglue {

/// Reads a call at a time; the answer goes into the message that is passed with it, except its
/// number. Both messages must live until the call is answered.
class EnvironmentCodec {
 public:
  /// `max_slots` 0: any number.
  explicit EnvironmentCodec(std::uint32_t max_slots) : max_slots_(max_slots) {}
  EnvironmentCodec(const EnvironmentCodec&) = delete;
  EnvironmentCodec& operator=(const EnvironmentCodec&) = delete;

  /// Reads the glue's call; false if `reply` refuses it already. Throws BadReply if this version
  /// does not know it, or it does not fit the TaskSpec.
  bool read(v1::EnvironmentCall& message, v1::EnvironmentReply& reply);

  const EnvironmentCall& call() const { return call_; }
  /// The call is to be answered.
  bool is_open() const { return reply_ != nullptr; }

  /// The answers, as EnvironmentSession says; each throws UsageError if the call wants another.
  void ready(TaskSpec spec, const EnvironmentTraits& traits);
  Outcome& outcome();
  void played();
  void keep(std::string bytes);
  void done();
  void reply_message(std::string text);
  void refuse(const RoutineRefused& refused);

  /// The call waits for its answer no more: it was sent, or the session is over.
  void close() { reply_ = nullptr; }

 private:
  using Kind = EnvironmentCall::Kind;

  void read_play(v1::Play& message);
  /// Throws RoutineRefused for a call that no environment has to answer.
  void check_routine(const v1::EnvironmentCall& message) const;
  void check_slot(std::uint32_t slot) const;
  /// The message to answer by. Throws UsageError unless the call is to be answered, and so.
  v1::EnvironmentReply& reply(bool is_right, const char* got) const;

  std::uint32_t max_slots_;
  bool has_spec_ = false;
  TaskSpec spec_;             // of the last ready()
  EnvironmentTraits traits_;  // likewise
  EnvironmentCall call_;
  v1::EnvironmentReply* reply_ = nullptr;
  // Of a Play:
  std::vector<Cell> cells_;
  std::vector<double> rewards_;
  std::vector<std::uint8_t> flags_;  // of all rows
  std::map<std::uint32_t, std::string> faults_;
  Outcome outcome_;
};

}  // namespace reglue
