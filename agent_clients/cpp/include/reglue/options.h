// How a peer comes in, whatever its role.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace reglue {

/// What a session is carried by: Auto takes the Unix socket of a glue on the same host where it
/// can be opened, else gRPC.
enum class Transport { Auto, Grpc, Unix };

struct Options {
  /// host:port, or a join string `reglue://…`, which holds token and authority as well.
  std::string address;  // empty: REGLUE_ADDRESS of the environment
  std::string token;    // empty: the join string's, or REGLUE_TOKEN
  std::string ca;       // a file, PEM or DER, of the authority to trust; empty: the join string's
  std::string tls_name;  // in the glue's certificate; empty: the join string's or the address's
  std::string name;      // what the peer calls itself; empty: what it says of itself

  /// How long a glue that is not up yet, or is gone, is waited for.
  std::chrono::milliseconds patience{60'000};
  Transport transport = Transport::Auto;

  /// What people should know and no error says; a line each. None: to stderr.
  std::function<void(const std::string&)> log;
};

}  // namespace reglue
