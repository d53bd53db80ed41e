#include "net/streams/streams.h"

#include <openssl/crypto.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "net/join/lobby.h"
#include "net/streams/grpc_stream.h"
#include "net/streams/unix_socket_stream.h"
#include "reglue/errors.h"
#include "text.h"

namespace reglue {

namespace {

/// The glue cannot be reached over a Unix socket: why, and whether waiting is useless.
struct NoUnixSocket {
  std::string why;
  bool is_lasting = false;
};

/// Why this process cannot use a fresh ticket's socket; empty if it may later.
std::string not_ours(int error) {
  if (error == ENOENT) {
    return "no such file; the glue is on another host, or in a container: mount its folder of "
           "sockets here, and name that by REGLUE_UNIX_SOCKET_DIR";
  }
  if (error == EACCES || error == EPERM) {
    return "it is another user's, who may let you in with --open-unix-socket";
  }
  return "";
}

/// A connected socket. Throws NoUnixSocket.
int connected(const std::string& path) {
  if (const std::string why = foreign(path); !why.empty()) {
    throw NoUnixSocket{path + " is no socket of a glue's: " + why, true};
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kLongestPath) {
    throw NoUnixSocket{path + ": a socket's path may have at most 107 bytes", true};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw NoUnixSocket{std::strerror(errno)};
  const timeval limit{kWelcome.count(), 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // connect() uses it
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  const std::string why = not_ours(error);
  throw NoUnixSocket{path + " cannot be opened: " + (why.empty() ? std::strerror(error) : why),
                     !why.empty()};
}

/// Says hello, and checks that the ticket's glue answers. Throws NoUnixSocket, StreamEnded.
void enter(UnixSocketStream& stream, const v1::Ticket& ticket,
           const google::protobuf::MessageLite& hello, std::uint64_t answered) {
  const Clock::time_point until = Clock::now() + kWelcome;
  stream.send(hello, until);
  v1::UnixSocketWelcome welcome;
  if (!stream.receive(welcome, until)) throw NoUnixSocket{"no welcome in time"};
  if (welcome.code() == grpc::StatusCode::RESOURCE_EXHAUSTED) throw NoUnixSocket{welcome.why()};
  if (welcome.code() != grpc::StatusCode::OK) {
    throw StreamEnded(welcome.why(), static_cast<grpc::StatusCode>(welcome.code()));
  }
  const std::string proof = unix_socket_proof(ticket.secret(), ticket.session(), answered);
  if (welcome.proof().size() != proof.size() ||
      CRYPTO_memcmp(welcome.proof().data(), proof.data(), proof.size()) != 0) {
    throw NoUnixSocket{"the process at the Unix socket is not the glue that we joined"};
  }
}

std::unique_ptr<Stream> open_unix_socket(const Route& route,
                                         const google::protobuf::MessageLite& hello,
                                         std::uint64_t answered) {
  if (route.ticket.unix_socket_path().empty()) {
    throw NoUnixSocket{"the glue offers no Unix socket", true};
  }
  const int fd = connected(path_here(route.ticket.unix_socket_path()));
  auto stream = std::make_unique<UnixSocketStream>(fd, kHelloBytes, route.interrupt, route.outage);
  enter(*stream, route.ticket, hello, answered);
  stream->opened();
  stream->allow(route.max_message_bytes());
  return stream;
}

}  // namespace

std::unique_ptr<Stream> Route::open(const google::protobuf::MessageLite& hello,
                                    std::uint64_t answered, bool is_back) const {
  if (transport != Transport::Grpc) {
    try {
      std::unique_ptr<Stream> stream = open_unix_socket(*this, hello, answered);
      if (log) log->info("messages travel over the glue's Unix socket");
      return stream;
    } catch (const NoUnixSocket& no) {
      if (transport == Transport::Unix && no.is_lasting && !is_back) {
        throw UsageError("got transport unix, wanted auto or grpc: " + no.why);
      }
      if (transport == Transport::Unix) throw StreamEnded(no.why + " (transport unix)");
      if (log)
        log->info("messages travel over gRPC, as there is no Unix socket: " + glue_text(no.why));
    }
  }
  return std::make_unique<GrpcStream>(*this, hello);
}

std::chrono::microseconds Route::reconnect_window() const {
  // Compared without a sign, as a glue may send any number.
  const std::chrono::microseconds most = limited(std::chrono::milliseconds::max());
  const auto most_us = static_cast<std::uint64_t>(most.count());
  return std::chrono::microseconds(std::min(ticket.reconnect_window_us(), most_us));
}

std::size_t Route::max_message_bytes() const {
  const std::size_t most = ticket.max_message_bytes();
  return most ? std::min<std::size_t>(most, INT32_MAX) : kHubMessageBytes;  // as protobuf counts
}

JoinString Route::where() const {
  JoinString there = join_string;
  if (!ticket.address().empty()) there.address = ticket.address();
  if (!ticket.tls_name().empty()) there.tls_name = ticket.tls_name();
  return there;
}

bool StreamEnded::is_refusal() const {
  switch (code) {
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::INVALID_ARGUMENT: return true;
    default: return false;
  }
}

void StreamEnded::throw_meaning() const {
  switch (code) {
    case grpc::StatusCode::UNAUTHENTICATED: throw WrongToken(what());
    case grpc::StatusCode::FAILED_PRECONDITION: throw WrongVersion(what());
    case grpc::StatusCode::ALREADY_EXISTS: throw Busy(what());
    case grpc::StatusCode::INVALID_ARGUMENT: throw Refused(what());
    default: throw SessionLost(what());
  }
}

}  // namespace reglue
