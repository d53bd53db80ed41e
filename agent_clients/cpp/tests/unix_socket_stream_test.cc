#include "net/streams/unix_socket_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "reglue/v1/session.pb.h"

namespace reglue {
namespace {

class UnixSocketFrames : public ::testing::Test {
 protected:
  UnixSocketFrames() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    stream = std::make_unique<UnixSocketStream>(ends[0], 1000);
    other = ends[1];
  }
  ~UnixSocketFrames() override {
    if (other >= 0) ::close(other);
  }

  void come(const std::string& bytes) {
    ASSERT_EQ(::send(other, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  static Deadline at_once() { return Clock::now(); }

  std::unique_ptr<UnixSocketStream> stream;
  int other;
  v1::TextMessage message;
};

const std::string kHi("\x04\0\0\0\x0a\x02hi", 8);

TEST_F(UnixSocketFrames, HaveTheirLengthBeforeThem) {
  message.set_text("hi");
  stream->send(message, std::nullopt);
  char bytes[16];
  ASSERT_EQ(::recv(other, bytes, sizeof bytes, 0), 8);
  EXPECT_EQ(std::string(bytes, 8), kHi);
}

TEST_F(UnixSocketFrames, ComeOneByOne) {
  come(kHi + kHi + kHi.substr(0, 5));
  for (int i = 0; i < 2; ++i) {
    message.Clear();
    ASSERT_TRUE(stream->receive(message, at_once()));
    EXPECT_EQ(message.text(), "hi");
  }
  EXPECT_FALSE(stream->receive(message, at_once()));
  come(kHi.substr(5));
  message.Clear();
  ASSERT_TRUE(stream->receive(message, at_once()));
  EXPECT_EQ(message.text(), "hi");
}

TEST_F(UnixSocketFrames, LargerThanTheSocketHoldsGoThrough) {
  stream->allow(1 << 24);
  const int copy = ::dup(other);
  UnixSocketStream there(copy, 1 << 24);
  message.set_text(std::string(1 << 23, 'x'));
  std::thread sender([&] { stream->send(message, std::nullopt); });
  v1::TextMessage got;
  EXPECT_TRUE(there.receive(got, std::nullopt));
  sender.join();
  EXPECT_EQ(got.text().size(), message.text().size());
}

TEST_F(UnixSocketFrames, ThatTheOtherEndDoesNotTakeEndTheStream) {
  message.set_text(std::string(1 << 23, 'x'));
  EXPECT_THROW(stream->send(message, Clock::now() + std::chrono::milliseconds(1)), StreamEnded);
  EXPECT_THROW(stream->receive(message, std::nullopt), StreamEnded);
}

TEST_F(UnixSocketFrames, OfMoreBytesThanAgreedEndTheStream) {
  come(std::string("\xe9\x03\0\0", 4));
  EXPECT_THROW(stream->receive(message, at_once()), StreamEnded);
}

TEST_F(UnixSocketFrames, OfNoMessageEndTheStream) {
  come(std::string("\x02\0\0\0\x0a\x05", 6));
  EXPECT_THROW(stream->receive(message, at_once()), StreamEnded);
}

TEST_F(UnixSocketFrames, ThatAreCutOffEndTheStream) {
  come(kHi.substr(0, 6));
  ::close(std::exchange(other, -1));
  EXPECT_THROW(stream->receive(message, std::nullopt), StreamEnded);
}

TEST_F(UnixSocketFrames, AreNotSentToWhoHasLeftAndWhatCameBeforeIsRead) {
  come(kHi);
  ::close(std::exchange(other, -1));
  stream->send(message, std::nullopt);
  ASSERT_TRUE(stream->receive(message, std::nullopt));
  EXPECT_EQ(message.text(), "hi");
}

TEST(UnixSocketPath, KeepsItsLastTwoPartsWhereAnotherFolderIsNamed) {
  unsetenv("REGLUE_UNIX_SOCKET_DIR");
  EXPECT_EQ(path_here("/run/user/7/reglue-5f0c/agent"), "/run/user/7/reglue-5f0c/agent");
  setenv("REGLUE_UNIX_SOCKET_DIR", "/sockets", 1);
  EXPECT_EQ(path_here("/run/user/7/reglue-5f0c/agent"), "/sockets/reglue-5f0c/agent");
  unsetenv("REGLUE_UNIX_SOCKET_DIR");
}

TEST(UnixSocketPath, OfAnotherServiceIsNone) {
  const std::string folder = ::testing::TempDir() + "reglue-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  const std::string path = folder + "/agent";
  EXPECT_EQ(foreign(path), "");  // not there: connect() tells
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(foreign(path), "");
  ::chmod(folder.c_str(), 0777);
  EXPECT_NE(foreign(path), "");
  ::chmod(folder.c_str(), 0700);
  ::close(fd);
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink("/dev/null", path.c_str()), 0);
  EXPECT_EQ(foreign(path), "it is no socket");
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  EXPECT_NE(foreign("/var/run/docker.sock"), "");
  EXPECT_NE(foreign("/run/user/7/reglue-5f0c/bus"), "");
  EXPECT_NE(foreign("agent"), "");
}

}  // namespace
}  // namespace reglue
