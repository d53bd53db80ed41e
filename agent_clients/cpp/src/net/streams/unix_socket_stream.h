// Messages over a Unix socket, for peers on one host. Each is preceded by its length,
// four bytes, little-endian.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/streams/streams.h"

namespace reglue {

/// The duration of a fast agent's turn; waking up from sleep would double it.
inline constexpr std::chrono::microseconds kSpin{200};

/// Decides whether to spin before sleeping, from earlier waits.
///
/// Spinning keeps a core busy. It happens only if this process may run on two cores or more, and
/// only while messages come within kSpin: after one that comes later, the next waits sleep at
/// once, twice as many each time that it happens again.
class AdaptiveSpin {
 public:
  AdaptiveSpin();

  /// Whether to spin before sleeping, this time.
  bool pays();
  /// The message came while spinning.
  void hit() { penalty_ = 1; }
  /// It did not come in time.
  void missed();

 private:
  int rests_ = 0;  // waits that sleep at once
  int penalty_;    // 0: never
};

inline constexpr std::size_t kHelloBytes = 8192;  // nothing more is read before its proof

/// One connection. It owns the socket.
class UnixSocketStream : public Stream {
 public:
  UnixSocketStream(int fd, std::size_t max_message_bytes, const Interrupt* interrupt = nullptr,
                   Outage* outage = nullptr);
  ~UnixSocketStream() override;
  UnixSocketStream(const UnixSocketStream&) = delete;
  UnixSocketStream& operator=(const UnixSocketStream&) = delete;

  /// From now on messages may be that large.
  void allow(std::size_t max_message_bytes) { most_ = max_message_bytes; }

  void send(const google::protobuf::MessageLite& message, const Deadline& until) override;
  bool receive(google::protobuf::MessageLite& message, const Deadline& until) override;

 private:
  /// Size of the first complete frame, with its header; 0: none yet. Throws StreamEnded for one
  /// that is too large.
  std::size_t frame();
  /// Reads what has arrived; false if nothing has. Throws StreamEnded.
  bool read();
  bool wait(const Deadline& until);
  void wait_to_send(const Deadline& until);
  /// Waits until the socket is ready; false if `until` comes first. Throws StreamEnded.
  bool is_ready(short events, const Deadline& until) const;

  int fd_;
  std::size_t most_;
  std::vector<std::uint8_t> in_, out_;
  std::size_t held_ = 0;  // bytes at the beginning of in_ that were read and not taken
  AdaptiveSpin spin_;
};

/// Most bytes of a socket's path (sun_path holds 108, with the final zero).
inline constexpr std::size_t kLongestPath = 107;

/// Why `path` is not a glue's socket; empty if it may be one.
///
/// A ticket names a path, and must not lead its holder to another service of this host. The file's
/// name is its role, in a folder reglue-... of the same user, where nobody else can put files. Any
/// user may own it, since glues let other users in. connect() reports a missing file.
std::string foreign(const std::string& path);

/// Where this process finds a ticket's `unix_socket_path`: REGLUE_UNIX_SOCKET_DIR replaces all
/// but its last two parts.
std::string path_here(const std::string& unix_socket_path);

}  // namespace reglue
