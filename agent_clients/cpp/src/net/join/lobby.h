// Joining: channels, and a ticket from the lobby.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "log.h"
#include "net/interrupt.h"
#include "net/join/join_string.h"
#include "reglue/options.h"
#include "reglue/v1/lobby.pb.h"

namespace reglue {

inline constexpr std::uint32_t kProtocolMajor = 1;
inline constexpr std::uint32_t kProtocolMinor = 0;
inline constexpr std::size_t kHubMessageBytes = 64 << 20;  // 64 MiB; largest, both ways
inline constexpr std::size_t kMostNameCharacters = 200;

/// Name and version of the client library, as AgentHello carries it.
std::string sdk_of(const Options& options);

/// HMAC-SHA256 that shows that a stream belongs to a ticket (AgentHello.proof).
std::string hello_proof(const std::string& secret, const std::string& session,
                        std::uint64_t answered);
/// HMAC-SHA256 that shows that the ticket's glue answers (UnixSocketWelcome.proof).
std::string unix_socket_proof(const std::string& secret, const std::string& session,
                              std::uint64_t answered);

/// A channel to the join string's address, with TLS if it names an authority.
std::shared_ptr<grpc::Channel> open_channel(const JoinString& join_string,
                                            std::size_t max_message_bytes);

/// Pauses between tries, without limit: 0.05 s, then 1.6 times longer each time up to 5 s.
class Backoff {
 public:
  std::chrono::duration<double> next();

 private:
  double pause_s_ = 0.05;
};

/// Asks the lobby for a ticket, for up to `connect_timeout` if no glue is up yet.
class Joining {
 public:
  /// Log and interrupt must outlive it.
  Joining(const JoinString& join_string, v1::Role role, const std::string& name,
          std::chrono::milliseconds connect_timeout, const Log& log, const Interrupt& interrupt);

  /// The ticket; none if `until` comes first, apart from a try that is under way, which may take
  /// seconds. Throws Unreachable, WrongToken, WrongVersion, WrongTls, Busy, Refused, Stopped.
  std::optional<v1::Ticket> ticket(const Deadline& until);

 private:
  grpc::Status ask(Clock::duration timeout, v1::Ticket& ticket) const;

  const JoinString join_string_;
  v1::JoinRequest request_;
  const std::chrono::milliseconds connect_timeout_;
  const Log& log_;
  const Interrupt& interrupt_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point next_try_ = begun_;
  Backoff pauses_;
  bool has_logged_ = false;  // that it waits
};

/// Fills in the fields that the hellos of all roles share; `Hello` is agent.proto's,
/// environment.proto's or experiment.proto's.
template <class Hello>
void greet(Hello& hello, const std::string& sdk, const v1::Ticket& ticket, std::uint64_t answered) {
  hello.set_major(kProtocolMajor);
  hello.set_minor(kProtocolMinor);
  hello.set_sdk(sdk);
  hello.set_session(ticket.session());
  hello.set_proof(hello_proof(ticket.secret(), ticket.session(), answered));
  hello.set_answered(answered);
}

}  // namespace reglue
