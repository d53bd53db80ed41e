// Streams of a session, for the peer's thread: gRPC's, or a Unix socket. They carry the messages of
// any role.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "log.h"
#include "net/interrupt.h"
#include "net/join/join_string.h"
#include "net/outage.h"
#include "reglue/options.h"
#include "reglue/v1/lobby.pb.h"
#include "text.h"

namespace reglue {

/// The stream ended: why, in words that may be the glue's, and the status if there is one.
class StreamEnded : public std::runtime_error {
 public:
  explicit StreamEnded(const std::string& why, grpc::StatusCode code = grpc::StatusCode::OK)
      : std::runtime_error(glue_text(why)), code(code) {}

  /// Whether the glue refused the peer.
  bool is_refusal() const;
  /// Throws the refusal's error (WrongToken, WrongVersion, Busy, Refused), else SessionLost.
  [[noreturn]] void throw_meaning() const;

  grpc::StatusCode code;
};

/// Messages both ways, for one thread.
class Stream {
 public:
  /// Waits are ended by `interrupt`, and an admission ends `outage`; either may be null.
  explicit Stream(const Interrupt* interrupt = nullptr, Outage* outage = nullptr)
      : interrupt_(interrupt), outage_(outage) {}
  virtual ~Stream() = default;

  /// Sends a message; a broken stream shows when receiving. Throws StreamEnded if the glue has not
  /// taken it by `until`: the stream is over then. Throws Stopped as every wait.
  virtual void send(const google::protobuf::MessageLite& message, const Deadline& until) = 0;

  /// As send(), and waits until the message has arrived, at most until then: what a Unix socket
  /// has taken arrives in any case.
  virtual void send_last(const google::protobuf::MessageLite& message, const Deadline& until) {
    send(message, until);
  }

  /// Merges the next message into `message`, so that its memory is reused; false if none came in
  /// time. Throws StreamEnded, and Stopped as every wait.
  virtual bool receive(google::protobuf::MessageLite& message, const Deadline& until) = 0;

  /// For how long the glue has admitted this peer on it; 0 if it has not.
  Clock::duration admitted() const {
    return opened_at_ ? Clock::now() - *opened_at_ : Clock::duration::zero();
  }
  /// The glue has admitted the peer; only the first time counts.
  void opened() {
    if (opened_at_) return;
    opened_at_ = Clock::now();
    if (outage_) outage_->end();
  }

 protected:
  [[noreturn]] static void throw_not_taken() {
    throw StreamEnded("the glue went away: it did not take a message in time");
  }
  void check_interrupt() const {
    if (interrupt_) interrupt_->check();
  }

 private:
  const Interrupt* interrupt_;
  Outage* outage_;
  Deadline opened_at_;
};

/// For how long a glue may take a hello, and answer one over a Unix socket.
inline constexpr std::chrono::seconds kWelcome{10};

/// How a session's streams are opened.
struct Route {
  JoinString join_string;
  v1::Ticket ticket;
  Transport transport = Transport::Auto;
  std::string method;  // of gRPC, such as "/reglue.v1.AgentService/Session"
  const Log* log = nullptr;
  const Interrupt* interrupt = nullptr;
  Outage* outage = nullptr;

  /// Opens a stream and says `hello`, whose proof covers `answered`: over a Unix socket if the
  /// ticket names one that can be opened, else over gRPC, as `transport` allows. Throws
  /// StreamEnded, and UsageError if a fresh ticket has no Unix socket and `transport` wants one.
  std::unique_ptr<Stream> open(const google::protobuf::MessageLite& hello, std::uint64_t answered,
                               bool is_back) const;

  /// For how long the glue waits for a peer whose stream broke.
  std::chrono::microseconds reconnect_window() const;
  /// In either direction, bytes.
  std::size_t max_message_bytes() const;
  /// Where the ticket says that gRPC's streams are opened.
  JoinString where() const;
};

}  // namespace reglue
