#include "experiments/experiment_session.h"

#include <algorithm>

#include "reglue/errors.h"
#include "text.h"

namespace reglue {
namespace {

constexpr std::chrono::seconds kFarewell{5};  // for the glue to end the other sessions
constexpr std::chrono::milliseconds kLongest{1'000'000'000'000};  // no clock overflows

v1::ExperimentCall goodbye(const char* reason) {
  v1::ExperimentCall call;
  call.mutable_farewell()->set_reason(reason);
  return call;
}

}  // namespace

ExperimentSession::ExperimentSession(const Options& options)
    : name_(clean(options.name.empty() ? "experiment" : options.name, kMostNameCharacters)),
      sdk_(sdk_of(options)),
      connect_timeout_(limited(options.connect_timeout)),
      log_(options),
      interrupt_(options.stop),
      route_{join_string_of(options),
             {},
             options.transport,
             "/reglue.v1.ExperimentService/Session",
             &log_,
             &interrupt_,
             &outage_} {
  Joining joining(route_.join_string, v1::ROLE_EXPERIMENT, name_, connect_timeout_, log_,
                  interrupt_);
  route_.ticket = joining.ticket(std::nullopt).value();
}

std::shared_ptr<v1::ExperimentReply> ExperimentSession::ask(v1::ExperimentCall& call) {
  if (!over_.empty()) throw SessionLost(over_);
  call.set_seq(answered_ + 1);
  const std::size_t size = call.ByteSizeLong(), most = route_.max_message_bytes();
  if (size > most) {
    throw OutOfDomain("a call of " + std::to_string(size) + " bytes",
                      "at most " + std::to_string(most));
  }
  auto reply = std::make_shared<v1::ExperimentReply>();
  const Clock::time_point until = Clock::now() + timeout_;
  trace_.begin(call);
  ReconnectWait reconnect_wait;
  try {
    while (true) {
      try {
        interrupt_.check();  // a wait that a quick glue ends has not looked
        opened().send(call, until);
        receive(call.seq(), *reply, until);
        answered_ = call.seq();
        trace_.end(*reply);
        return reply;
      } catch (const StreamEnded& end) {
        reconnect(end, reconnect_wait, until);
      }
    }
  } catch (const std::exception& error) {
    over_ = error.what();
    throw;
  }
}

void ExperimentSession::set_timeout(std::chrono::milliseconds timeout) {
  if (timeout < std::chrono::milliseconds(1) || timeout > kLongest) {
    throw UsageError("got a timeout of " + std::to_string(timeout.count()) + " ms, wanted 1 to " +
                     std::to_string(kLongest.count()));
  }
  timeout_ = timeout;
}

void ExperimentSession::leave() {
  if (is_admitted_) {
    try {
      interrupt_.check();
    } catch (const Stopped& stopped) {  // while the program computed
      if (over_.empty()) over_ = stopped.what();
    }
    interrupt_.disable();
    try {
      if (is_interrupted(over_)) {
        opened().send_last(goodbye(kInterrupted), Clock::now() + kArrives);
      } else {
        Stream& stream = opened();
        const Clock::time_point until = Clock::now() + kFarewell;
        stream.send(goodbye("the program has left"), until);
        v1::ExperimentReply ignored;
        while (stream.receive(ignored, until)) ignored.Clear();
      }
    } catch (const std::exception&) {
      // The stream has ended as it should, or the glue is gone too.
    }
  }
  is_admitted_ = false;
  stream_.reset();
  if (over_.empty()) over_ = "the program has left";
}

void ExperimentSession::lose(const std::string& why) {
  over_ = "the glue sent what this client cannot read: " + glue_text(why);
  throw SessionLost(over_);
}

Stream& ExperimentSession::opened() {
  if (!stream_) {
    v1::ExperimentCall call;
    v1::ExperimentHello& hello = *call.mutable_hello();
    greet(hello, sdk_, route_.ticket, answered_);
    hello.set_experiment(name_);
    stream_ = route_.open(call, answered_, is_admitted_);
    is_admitted_ = true;
  }
  return *stream_;
}

/// The reply to call `seq`. Throws StreamEnded, and SessionLost for a farewell or if it is late.
void ExperimentSession::receive(std::uint64_t seq, v1::ExperimentReply& reply,
                                Clock::time_point until) {
  do {
    reply.Clear();
    if (!stream_->receive(reply, until)) {
      throw SessionLost("the routine took longer than its " + std::to_string(timeout_.count()) +
                        " ms: are an agent and an environment there? The session is over");
    }
    if (reply.has_farewell()) {
      is_admitted_ = false;
      throw SessionLost("the glue has ended the session: " + glue_text(reply.farewell().reason()));
    }
  } while (reply.seq() != seq);
}

void ExperimentSession::reconnect(const StreamEnded& end, ReconnectWait& reconnect_wait,
                                  Clock::time_point until) {
  if (stream_ && was_good(stream_->admitted(), false)) reconnect_wait.restart();
  stream_.reset();
  if (end.is_refusal()) {
    const bool was_admitted = std::exchange(is_admitted_, false);
    if (end.code != grpc::StatusCode::UNAUTHENTICATED || !was_admitted) end.throw_meaning();
    throw SessionLost("the glue does not know this session any more");
  }
  const std::chrono::microseconds most = route_.reconnect_window();
  const auto pause = reconnect_wait.pause(most);
  if (!pause || Clock::now() + *pause > until) end.throw_meaning();
  outage_.begin(end.what(), most);
  interrupt_.sleep(Clock::now() + std::chrono::duration_cast<Clock::duration>(*pause),
                   std::nullopt);
}

}  // namespace reglue
