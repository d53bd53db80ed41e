// How a peer of any role connects.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace reglue {

/// How a session's messages travel: Auto is the Unix socket of a glue on the same host if it can
/// be opened, else gRPC.
enum class Transport { Auto, Grpc, Unix };

/// Where to join, and as what. Every field has a default.
struct Options {
  /// host:port, or a join string `reglue://…`, which holds token and authority as well; empty:
  /// REGLUE_ADDRESS of the environment
  std::string address;
  std::string token;    ///< empty: the join string's, or REGLUE_TOKEN
  std::string ca;  ///< a file, PEM or DER, of the authority to trust; empty: the join string's
  std::string tls_name;  ///< of the glue's certificate; empty: the join string's or the address's
  std::string name;  ///< what the peer calls itself; empty: what it says of itself
  std::string sdk;  ///< name and version of the client library; empty: this one's

  /// How long to wait for a glue that is not up. One that was joined says how long it is looked for
  /// when it is gone.
  std::chrono::milliseconds connect_timeout{60'000};
  Transport transport = Transport::Auto;

  /// Gets lines for the author, such as refusals and lost connections, of the levels that
  /// REGLUE_LOG asks for. None: stderr, with the time and the level.
  std::function<void(const std::string&)> log;

  /// Called twenty times a second while the peer waits; the peer leaves once it is true, as by
  /// AgentSession::stop(). It may read what another thread or a signal handler sets.
  std::function<bool()> stop;

  /// Whether run_agent() and its like handle SIGINT and SIGTERM, unless the program has set
  /// handlers before: the glue learns of it, and the exit code is 130 or 143. connect() handles
  /// none.
  bool handle_signals = true;
};

}  // namespace reglue
