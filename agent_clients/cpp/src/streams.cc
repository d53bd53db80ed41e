#include "streams.h"

#include <openssl/crypto.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "door.h"
#include "grpc_stream.h"
#include "lane_stream.h"
#include "reglue/errors.h"

namespace reglue {

namespace {

constexpr std::chrono::seconds kWelcome{10};  // how long a glue may take to answer a hello

/// The glue cannot be reached over a lane: why, and whether waiting mends nothing.
struct NoLane {
  std::string why;
  bool is_lasting = false;
};

/// Why a fresh ticket's socket is none for this process; empty if it may be one later.
std::string not_ours(int error) {
  if (error == ENOENT) {
    return "no such file; the glue is on another host, or in a container: mount its folder of "
           "sockets here, and name that by REGLUE_LANE_DIR";
  }
  if (error == EACCES || error == EPERM) {
    return "it is another user's, who may let you in with --open-lane";
  }
  return "";
}

/// A socket that is connected. Throws NoLane.
int connected(const std::string& path) {
  if (const std::string why = foreign(path); !why.empty()) {
    throw NoLane{path + " is no socket of a glue's: " + why, true};
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kLongestPath) throw NoLane{path + ": a socket's path may not be as long", true};
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw NoLane{std::strerror(errno)};
  const timeval patience{kWelcome.count(), 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // connect() heeds it
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  const std::string why = not_ours(error);
  throw NoLane{path + " cannot be opened: " + (why.empty() ? std::strerror(error) : why),
               !why.empty()};
}

/// Says hello, and sees that it is the ticket's glue that answers. Throws NoLane, StreamEnded.
void enter(LaneStream& lane, const v1::Ticket& ticket, const google::protobuf::MessageLite& hello,
           std::uint64_t answered) {
  lane.send(hello);
  v1::LaneWelcome welcome;
  if (!lane.receive(welcome, Clock::now() + kWelcome)) throw NoLane{"no welcome in time"};
  if (welcome.code() == grpc::StatusCode::RESOURCE_EXHAUSTED) throw NoLane{welcome.why()};
  if (welcome.code() != grpc::StatusCode::OK) {
    throw StreamEnded(welcome.why(), static_cast<grpc::StatusCode>(welcome.code()));
  }
  const std::string proof = lane_proof(ticket.secret(), ticket.session(), answered);
  if (welcome.proof().size() != proof.size() ||
      CRYPTO_memcmp(welcome.proof().data(), proof.data(), proof.size()) != 0) {
    throw NoLane{"who answers at the Unix socket is not the glue that we joined"};
  }
}

std::unique_ptr<Stream> open_lane(const Way& way, const google::protobuf::MessageLite& hello,
                                  std::uint64_t answered) {
  if (way.ticket.lane_path().empty()) throw NoLane{"the glue offers no Unix socket", true};
  const int fd = connected(path_here(way.ticket.lane_path()));
  auto lane = std::make_unique<LaneStream>(fd, kHelloBytes);
  enter(*lane, way.ticket, hello, answered);
  lane->seated();
  lane->allow(way.max_message_bytes());
  return lane;
}

}  // namespace

std::unique_ptr<Stream> Way::open(const google::protobuf::MessageLite& hello,
                                  std::uint64_t answered, bool is_back) const {
  if (transport != Transport::Grpc) {
    try {
      return open_lane(*this, hello, answered);
    } catch (const NoLane& no) {
      if (transport == Transport::Unix && no.is_lasting && !is_back) {
        throw UsageError("got transport unix, wanted auto or grpc: " + no.why);
      }
      if (transport == Transport::Unix) throw StreamEnded(no.why + " (transport unix)");
    }
  }
  return std::make_unique<GrpcStream>(*this, hello);
}

std::size_t Way::max_message_bytes() const {
  const std::size_t most = ticket.max_message_bytes();
  return most ? std::min<std::size_t>(most, INT32_MAX) : kHubMessageBytes;  // as protobuf counts
}

Invitation Way::where() const {
  Invitation there = invitation;
  if (!ticket.address().empty()) there.address = ticket.address();
  if (!ticket.tls_name().empty()) there.tls_name = ticket.tls_name();
  return there;
}

bool StreamEnded::is_refusal() const {
  switch (code) {
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return true;
    default:
      return false;
  }
}

void StreamEnded::throw_meaning() const {
  switch (code) {
    case grpc::StatusCode::UNAUTHENTICATED:
      throw WrongToken(what());
    case grpc::StatusCode::FAILED_PRECONDITION:
      throw WrongVersion(what());
    case grpc::StatusCode::ALREADY_EXISTS:
      throw Busy(what());
    case grpc::StatusCode::INVALID_ARGUMENT:
      throw Refused(what());
    default:
      throw SessionLost(what());
  }
}

}  // namespace reglue
