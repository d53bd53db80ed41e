// The session of an agent or an environment: joins, says hello, returns calls and sends answers,
// reconnects when the stream breaks, leaves. Every call is carried out once, whatever breaks.
//
// A role says what its messages are:
//
//   struct AgentWire {
//     using Call = v1::AgentCall;
//     using Reply = v1::AgentReply;
//     static constexpr v1::Role role = v1::ROLE_AGENT;
//     static constexpr const char* method = "/reglue.v1.AgentService/Session";
//     /// Clears the last call, but keeps memory that the next one can use.
//     static void reuse(Call& call);
//   };
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "log.h"
#include "net/interrupt.h"
#include "net/join/lobby.h"
#include "net/outage.h"
#include "net/reconnect.h"
#include "net/streams/streams.h"
#include "reglue/errors.h"
#include "text.h"

namespace reglue {

inline constexpr const char* kGaveUp =
    "gave up. A competition keeps its submissions: join again under the same name, and if its "
    "organiser has announced a new address, put it into the join string";

template <class Wire>
class AnsweringSession {
 public:
  using Call = typename Wire::Call;
  using Reply = typename Wire::Reply;
  /// Fills in `hello` of an empty reply, see greet().
  using Hello = std::function<void(Reply& hello, const v1::Ticket& ticket, std::uint64_t answered)>;

  /// Connects nothing yet. Throws UsageError for an invalid address.
  AnsweringSession(const Options& options, const std::string& name, Hello hello)
      : join_string_(join_string_of(options)),
        transport_(options.transport),
        connect_timeout_(limited(options.connect_timeout)),
        log_(options),
        interrupt_(options.stop),
        name_(clean(name, kMostNameCharacters)),
        hello_(std::move(hello)) {}

  /// As close().
  ~AnsweringSession() { close("the program has left"); }
  AnsweringSession(const AnsweringSession&) = delete;
  AnsweringSession& operator=(const AnsweringSession&) = delete;

  const std::string& name() const { return name_; }
  const Log& log() const { return log_; }
  /// Of the glue, after next() has returned null.
  const std::string& farewell() const { return farewell_; }
  std::size_t max_message_bytes() const { return route_->max_message_bytes(); }

  /// The next call that wants an answer; null after the farewell, or if the program has stopped the
  /// session. Refusals are logged. Throws as connect(); the session is over then, and another
  /// next() throws SessionLost. The last call must have been answered.
  Call* next();

  /// Waits until next() returns or throws at once; false if `until` comes first.
  bool wait(const Deadline& until);

  /// Ends a wait in `next` or `wait`. Safe in signal handlers and other threads.
  void stop() noexcept { interrupt_.request(); }

  /// The message that is to answer it. It may hold an earlier answer, whose memory can be used
  /// again; `answer` sets the number.
  Reply& reply() { return answers_.next(); }

  /// Sends and remembers it. Throws UsageError, and the call is still to be answered, if it is
  /// larger than a message may be.
  void answer();

  /// Sends a Fault as the answer to call `seq`, or one that answers no call if that is 0; waits
  /// some seconds for the farewell unless it is interrupted, and ends the session.
  void fault(std::uint64_t seq, std::string_view what) { say_fault(seq, what, kFarewell); }

  /// Ends the session; tells the glue if it is not over.
  void close(std::string_view why) { say_fault(0, why, kEnd); }

  /// The glue's message does not fit: the session is over. Throws SessionLost.
  [[noreturn]] void lose(const std::string& why) {
    end();
    throw SessionLost("the glue sent what this client cannot read: " + glue_text(why));
  }

 private:
  static constexpr std::chrono::seconds kFarewell{5};  // for the farewell after a fault
  static constexpr std::chrono::seconds kEnd{2};       // and when leaving

  bool enter(const Deadline& until);
  std::optional<v1::Ticket> join(const Deadline& until);
  bool receive(const Deadline& until);
  void reconnect(const StreamEnded& end);
  void join_anew(const StreamEnded& end);
  void say_fault(std::uint64_t seq, std::string_view what, std::chrono::seconds farewell);
  void end() {
    is_over_ = true;
    has_call_ = false;
    stream_.reset();
  }

  JoinString join_string_;
  Transport transport_;
  std::chrono::milliseconds connect_timeout_;
  const Log log_;
  Trace trace_;
  Interrupt interrupt_;
  Outage outage_{log_};
  std::string name_;
  Hello hello_;

  std::optional<Joining> joining_;  // while there is no ticket
  std::optional<StreamEnded> forgotten_;  // why the last ticket was given up
  std::optional<Route> route_;      // of the ticket, if there is one
  std::unique_ptr<Stream> stream_;
  bool is_admitted_ = false;      // at the glue, by an earlier stream
  bool is_over_ = false;
  bool has_farewell_ = false;
  std::string farewell_;
  Clock::time_point next_try_ = Clock::now();  // to join or to open a stream
  ReconnectWait reconnect_wait_;  // for streams of this ticket
  ReconnectWait rejoin_wait_;     // for tickets that bring a good stream
  std::uint64_t taken_ = 0;     // number of the last call that was answered
  std::uint64_t taken_before_ = 0;     // what was taken when the stream was opened
  Call call_;
  bool has_call_ = false;  // that next() returns
  Remembered<Reply> answers_;
};

template <class Wire>
typename Wire::Call* AnsweringSession<Wire>::next() {
  wait(std::nullopt);
  if (has_farewell_) return nullptr;
  if (is_over_) throw SessionLost("the session is over already; connect anew");
  has_call_ = false;
  trace_.begin(call_);
  return &call_;
}

template <class Wire>
bool AnsweringSession<Wire>::wait(const Deadline& until) {
  if (has_call_ || is_over_) return true;
  try {
    while (true) {
      try {
        interrupt_.check();
        return enter(until) && receive(until);
      } catch (const StreamEnded& end) {
        reconnect(end);
      }
    }
  } catch (const Stopped& stopped) {
    close(stopped.what());
    farewell_ = stopped.what();
    has_farewell_ = true;
    return true;
  } catch (...) {
    end();
    throw;
  }
}

/// Gets a ticket and a stream, unless it has them; false if `until` comes first. Throws
/// StreamEnded, and as Joining.
template <class Wire>
bool AnsweringSession<Wire>::enter(const Deadline& until) {
  if (!stream_ && !interrupt_.sleep(next_try_, until)) return false;
  if (!route_) {
    std::optional<v1::Ticket> ticket = join(until);
    if (!ticket) return false;
    route_ = Route{join_string_, *std::move(ticket), transport_, Wire::method,
                   &log_,        &interrupt_,        &outage_};
    is_admitted_ = false;
    taken_ = 0;
    reconnect_wait_ = ReconnectWait();
    answers_.forget();
  }
  if (!stream_) {
    Reply hello;
    hello_(hello, route_->ticket, taken_);
    taken_before_ = taken_;
    stream_ = route_->open(hello, taken_, is_admitted_);
    is_admitted_ = true;
  }
  return true;
}

/// A ticket; none if `until` comes first. Throws as Joining. If no glue answers in time, but one
/// has ended an earlier ticket, throws the meaning of that end: the address was right.
template <class Wire>
std::optional<v1::Ticket> AnsweringSession<Wire>::join(const Deadline& until) {
  if (!joining_) {
    joining_.emplace(join_string_, Wire::role, name_, connect_timeout_, log_, interrupt_);
  }
  try {
    std::optional<v1::Ticket> ticket = joining_->ticket(until);
    if (ticket) joining_.reset();
    return ticket;
  } catch (const Unreachable&) {
    if (forgotten_) forgotten_->throw_meaning();
    throw;
  }
}

/// Receives the next new call, or the farewell; logs refusals. False if `until` comes first.
template <class Wire>
bool AnsweringSession<Wire>::receive(const Deadline& until) {
  while (true) {
    Wire::reuse(call_);
    if (!stream_->receive(call_, until)) return false;
    if (call_.seq() <= taken_) {
      if (const Reply* answer = answers_.find(call_.seq())) stream_->send(*answer, std::nullopt);
    } else if (call_.has_farewell()) {
      farewell_ = glue_text(call_.farewell().reason());
      has_farewell_ = true;
      end();
      return true;
    } else if (call_.has_refusal()) {
      const auto& refusal = call_.refusal();
      log_.error("reply " + std::to_string(refusal.of_seq()) + " was refused: got " +
                 glue_text(refusal.got()) + ", wanted " + glue_text(refusal.wanted()));
      taken_ = call_.seq();
    } else {
      has_call_ = true;
      return true;
    }
  }
}

template <class Wire>
void AnsweringSession<Wire>::answer() {
  Reply& reply = answers_.next();
  reply.set_seq(call_.seq());
  const std::size_t size = reply.ByteSizeLong();
  if (size > max_message_bytes()) {
    throw UsageError("got an answer of " + std::to_string(size) + " bytes, wanted at most " +
                     std::to_string(max_message_bytes()));
  }
  taken_ = call_.seq();
  answers_.keep(taken_);
  try {
    stream_->send(reply, std::nullopt);
  } catch (const Stopped&) {
    // The next wait() leaves.
  } catch (const StreamEnded&) {
    // The next wait() finds it ended too, and reconnects.
  }
  trace_.end(reply);
}

/// Says when the next try is. Throws the end's meaning if it is too late.
template <class Wire>
void AnsweringSession<Wire>::reconnect(const StreamEnded& end) {
  if (stream_ && was_good(stream_->admitted(), taken_ > taken_before_)) {
    reconnect_wait_.restart();
    rejoin_wait_.restart();
  }
  stream_.reset();
  if (end.is_refusal()) {
    if (route_->ticket.reconnect_window_us() == 0 || end.code != grpc::StatusCode::UNAUTHENTICATED)
      end.throw_meaning();
    return join_anew(end);
  }
  const std::chrono::microseconds most = route_->reconnect_window();
  const auto pause = reconnect_wait_.pause(most);
  if (!pause) {
    if (!route_->ticket.address().empty()) return join_anew(end);  // the run is gone, not its hub
    if (most.count() == 0) end.throw_meaning();
    throw SessionLost(std::string(end.what()) + "; " + kGaveUp);
  }
  outage_.begin(end.what(), most);
  next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*pause);
}

/// Gives the ticket up. Throws the end's meaning if no ticket has brought a good stream for as long
/// as a glue may take to come up.
template <class Wire>
void AnsweringSession<Wire>::join_anew(const StreamEnded& end) {
  const auto pause = rejoin_wait_.pause(connect_timeout_);
  if (!pause) end.throw_meaning();
  forgotten_ = end;
  outage_.forget();
  route_.reset();
  next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*pause);
}

template <class Wire>
void AnsweringSession<Wire>::say_fault(std::uint64_t seq, std::string_view what,
                                       std::chrono::seconds farewell) {
  if (is_over_ || !stream_) return end();
  interrupt_.disable();
  try {
    Reply reply;
    reply.set_seq(seq);
    reply.mutable_fault()->set_what(clean(what, kMaxFaultCharacters));
    if (is_interrupted(what)) {
      stream_->send_last(reply, Clock::now() + kArrives);
      return end();
    }
    const Clock::time_point until = Clock::now() + farewell;
    stream_->send(reply, until);
    if (seq > 0) trace_.end(reply);
    do {
      Wire::reuse(call_);
    } while (stream_->receive(call_, until) && !call_.has_farewell());
  } catch (const std::exception&) {
    // The glue is gone too, or the program's log throws: the peer's own error says more.
  }
  end();
}

}  // namespace reglue
