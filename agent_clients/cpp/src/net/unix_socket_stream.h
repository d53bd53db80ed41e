// Messages over a Unix socket, for peers on one host. Each is preceded by its length,
// four bytes, little-endian.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/streams.h"

namespace reglue {

/// As long as a turn of a light agent takes: waking up from sleep would double it.
inline constexpr std::chrono::microseconds kSpin{200};

/// Whether looking pays, learnt from how it went.
///
/// Looking keeps a core busy. It is done only where this process may run on two cores or more,
/// and only as long as messages come within kSpin: one that came too late makes the next waits
/// sleep at once, twice as many each time that it happens again.
class AdaptiveSpin {
 public:
  AdaptiveSpin();

  /// Whether to look before sleeping, this time.
  bool pays();
  /// It came while one looked.
  void hit() { penalty_ = 1; }
  /// It did not.
  void missed();

 private:
  int rests_ = 0;  // waits that sleep at once
  int penalty_;    // 0: never
};

inline constexpr std::size_t kHelloBytes = 8192;  // nothing more is read before its proof

/// One connection. It owns the socket.
class UnixSocketStream : public Stream {
 public:
  UnixSocketStream(int fd, std::size_t max_message_bytes);
  ~UnixSocketStream() override;
  UnixSocketStream(const UnixSocketStream&) = delete;
  UnixSocketStream& operator=(const UnixSocketStream&) = delete;

  /// From now on messages may be that large.
  void allow(std::size_t max_message_bytes) { most_ = max_message_bytes; }

  void send(const google::protobuf::MessageLite& message) override;
  bool receive(google::protobuf::MessageLite& message, const Deadline& until) override;

 private:
  /// The first frame, header and all, that is held whole; 0 bytes: none is. Throws StreamEnded
  /// for one that is too large.
  std::size_t frame();
  /// Reads what has come; false if nothing has. Throws StreamEnded.
  bool read();
  bool wait(const Deadline& until);

  int fd_;
  std::size_t most_;
  std::vector<std::uint8_t> in_, out_;
  std::size_t held_ = 0;  // bytes at the beginning of in_ that were read and not taken
  AdaptiveSpin spin_;
};

/// What a socket's path has at most (sun_path holds 108, with the zero behind it).
inline constexpr std::size_t kLongestPath = 107;

/// Why nothing should be said to what is at `path`; empty for what may be a glue's socket.
///
/// A ticket names a path, and must not lead its holder to any other service of this host: the
/// file is called by its role in a folder reglue-... of the same user's, where nobody else can
/// put files. Whose socket it is, is not asked: glues let other users in. What is not there is
/// for connect() to tell.
std::string foreign(const std::string& path);

/// Where this process finds a ticket's `unix_socket_path`: REGLUE_UNIX_SOCKET_DIR replaces all
/// but its last two parts.
std::string path_here(const std::string& unix_socket_path);

}  // namespace reglue
