#include "net/streams/unix_socket_stream.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace reglue {

namespace {

constexpr std::size_t kHeader = 4;
constexpr std::size_t kReadBytes = 1 << 16;  // that are read at once

[[noreturn]] void throw_gone(const std::string& why) {
  throw StreamEnded("the glue went away: " + why);
}

}  // namespace

UnixSocketStream::UnixSocketStream(int fd, std::size_t max_message_bytes,
                                   const Interrupt* interrupt, Outage* outage)
    : Stream(interrupt, outage), fd_(fd), most_(max_message_bytes) {
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

UnixSocketStream::~UnixSocketStream() {
  ::shutdown(fd_, SHUT_RDWR);
  ::close(fd_);
}

void UnixSocketStream::send(const google::protobuf::MessageLite& message, const Deadline& until) {
  const std::size_t size = message.ByteSizeLong();
  if (out_.size() < kHeader + size) out_.resize(kHeader + size);
  for (std::size_t i = 0; i < kHeader; ++i) out_[i] = static_cast<std::uint8_t>(size >> 8 * i);
  static_cast<void>(message.SerializeWithCachedSizesToArray(out_.data() + kHeader));
  for (std::size_t sent = 0; sent < kHeader + size;) {
    const ssize_t count = ::send(fd_, out_.data() + sent, kHeader + size - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_to_send(until);
    } else if (errno != EINTR) {
      return;  // receive() throws why, after what came in before
    }
  }
}

bool UnixSocketStream::receive(google::protobuf::MessageLite& message, const Deadline& until) {
  std::size_t size = 0;
  while ((size = frame()) == 0) {
    if (!read() && !wait(until)) return false;
  }
  google::protobuf::io::CodedInputStream bytes(in_.data() + kHeader,
                                               static_cast<int>(size - kHeader));
  const bool is_read = message.MergeFromCodedStream(&bytes) && bytes.ConsumedEntireMessage();
  held_ -= size;
  std::memmove(in_.data(), in_.data() + size, held_);
  if (!is_read) throw StreamEnded("the glue sent what this client cannot read: no message");
  return true;
}

std::size_t UnixSocketStream::frame() {
  if (held_ < kHeader) return 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeader; ++i) size |= static_cast<std::size_t>(in_[i]) << 8 * i;
  if (size > most_) {
    throw_gone("got a message of " + std::to_string(size) + " bytes, wanted at most " +
               std::to_string(most_));
  }
  if (held_ >= kHeader + size) return kHeader + size;
  if (in_.size() < kHeader + size) in_.resize(kHeader + size);
  return 0;
}

bool UnixSocketStream::read() {
  in_.resize(std::max(in_.size(), std::min(kReadBytes, kHeader + most_)));
  while (true) {
    const ssize_t count = ::recv(fd_, in_.data() + held_, in_.size() - held_, 0);
    if (count > 0) {
      held_ += static_cast<std::size_t>(count);
      return true;
    }
    if (count == 0) throw_gone("its end of the Unix socket is closed");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw_gone(std::strerror(errno));
  }
}

/// Waits for something to read: spins for a moment if that pays, then sleeps.
bool UnixSocketStream::wait(const Deadline& until) {
  const Clock::time_point now = Clock::now();
  if ((!until || *until > now) && spin_.pays()) {
    while (Clock::now() < now + kSpin) {
      if (read()) {
        spin_.hit();
        return true;
      }
    }
    spin_.missed();
  }
  return is_ready(POLLIN, until);
}

void UnixSocketStream::wait_to_send(const Deadline& until) {
  try {
    if (!is_ready(POLLOUT, until)) throw_not_taken();
  } catch (...) {
    ::shutdown(fd_, SHUT_RDWR);  // nothing may follow a part of a message
    throw;
  }
}

bool UnixSocketStream::is_ready(short events, const Deadline& until) const {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(Interrupt::slice(until) - Clock::now());
    pollfd waited{fd_, events, 0};
    const int ready = ::poll(&waited, 1, std::max(0, static_cast<int>(left.count())));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw_gone(std::strerror(errno));
    check_interrupt();
    if (until && Clock::now() >= *until) return false;
  }
}

std::string foreign(const std::string& path) {
  const std::size_t file = path.rfind('/');
  const std::string folder = file == path.npos ? "" : path.substr(0, file);
  const std::string role = file == path.npos ? path : path.substr(file + 1);
  const std::size_t last = folder.rfind('/') == folder.npos ? 0 : folder.rfind('/') + 1;
  const bool is_role = role == "agent" || role == "environment" || role == "experiment";
  if (!is_role || folder.compare(last, 7, "reglue-") != 0) {
    return "a glue's is called reglue-.../agent, environment or experiment";
  }
  struct stat socket{}, around{};
  if (::lstat(path.c_str(), &socket) != 0 || ::stat(folder.c_str(), &around) != 0) return "";
  if (!S_ISSOCK(socket.st_mode)) return "it is no socket";
  if (socket.st_uid != around.st_uid || (around.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "others than its owner can put files into its folder";
  }
  return "";
}

std::string path_here(const std::string& unix_socket_path) {
  const char* here = std::getenv("REGLUE_UNIX_SOCKET_DIR");
  if (!here || !*here) return unix_socket_path;
  const std::size_t file = unix_socket_path.rfind('/');
  const std::size_t folder = file == 0 || file == unix_socket_path.npos
                                 ? unix_socket_path.npos
                                 : unix_socket_path.rfind('/', file - 1);
  std::string path = here;
  if (path.back() != '/') path += '/';
  return path + unix_socket_path.substr(folder == unix_socket_path.npos ? 0 : folder + 1);
}

}  // namespace reglue

namespace reglue {

namespace {

constexpr int kMostRests = 1024;

/// Cores on which this process may run.
int cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

AdaptiveSpin::AdaptiveSpin() : penalty_(cores() > 1 ? 1 : 0) {}

bool AdaptiveSpin::pays() {
  if (rests_ == 0) return penalty_ > 0;
  --rests_;
  return false;
}

void AdaptiveSpin::missed() {
  rests_ = penalty_;
  penalty_ = std::min(2 * penalty_, kMostRests);
}

}  // namespace reglue
