#include "net/join/tls_diagnosis.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "net/join/join_string.h"
#include "net/join/openssl_deleter.h"
#include "reglue/errors.h"

namespace reglue {

namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// OpenSSL writes without MSG_NOSIGNAL: a closed connection would end the program by SIGPIPE.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now{};
    if (!sigismember(&before_, SIGPIPE)) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
};

bool is_ready(int fd, short events, Clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd waited{fd, events, 0};
  return ::poll(&waited, 1, left > 0 ? static_cast<int>(left) : 0) > 0;
}

/// A connection to a Unix socket; below 0 if none is made.
Socket dialled(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket.fd(), where, sizeof address) == 0 ? std::move(socket) : Socket(-1);
}

/// A connection to one of the host's addresses; below 0 if none is made in time.
Socket dialled(const std::string& address, Clock::time_point until) {
  if (const auto path = socket_path(address)) return dialled(*path);
  auto [host, port] = split_address(address);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *first = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &first) != 0) {
    return Socket(-1);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(first, freeaddrinfo);
  for (const addrinfo* each = first; each; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.fd() < 0) continue;
    if (::connect(socket.fd(), each->ai_addr, each->ai_addrlen) != 0) {
      if (errno != EINPROGRESS || !is_ready(socket.fd(), POLLOUT, until)) continue;
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) continue;
    }
    return socket;
  }
  return Socket(-1);
}

/// A TLS session like gRPC's; without an authority to trust it checks no certificate.
OpensslPtr<SSL> session(SSL_CTX* context, const JoinString& join_string, const std::string& name,
                        int fd) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context, kH2, sizeof kH2);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (const OwnCertificate certificate = own_certificate(); !certificate.path.empty()) {
    SSL_CTX_use_certificate_chain_file(context, certificate.path.c_str());
    SSL_CTX_use_PrivateKey_file(context, certificate.path.c_str(), SSL_FILETYPE_PEM);
    ERR_clear_error();
  }
  OpensslPtr<SSL> tls(SSL_new(context));
  SSL_set_tlsext_host_name(tls.get(), name.c_str());
  SSL_set_fd(tls.get(), fd);
  if (join_string.authority.empty()) return tls;
  const std::string pem = to_pem(join_string.authority);
  const OpensslPtr<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  while (const OpensslPtr<X509> next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), next.get());
  }
  ERR_clear_error();
  X509_VERIFY_PARAM* checks = SSL_get0_param(tls.get());
  X509_VERIFY_PARAM_set_flags(checks, X509_V_FLAG_PARTIAL_CHAIN);
  if (!X509_VERIFY_PARAM_set1_ip_asc(checks, name.c_str())) {
    ERR_clear_error();
    X509_VERIFY_PARAM_set1_host(checks, name.c_str(), name.size());
  }
  SSL_set_verify(tls.get(), SSL_VERIFY_PEER, nullptr);
  return tls;
}

enum class Outcome { Good, Bad, CutOff };

Outcome shake(SSL* tls, int fd, Clock::time_point until) {
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(tls);
    if (result == 1) return Outcome::Good;
    switch (SSL_get_error(tls, result)) {
      case SSL_ERROR_WANT_READ:
        if (!is_ready(fd, POLLIN, until)) return Outcome::CutOff;
        break;
      case SSL_ERROR_WANT_WRITE:
        if (!is_ready(fd, POLLOUT, until)) return Outcome::CutOff;
        break;
      case SSL_ERROR_SSL: return Outcome::Bad;
      default: return Outcome::CutOff;  // the glue may come back
    }
  }
}

[[noreturn]] void throw_certificate(long code, const JoinString& join_string,
                                    const std::string& name) {
  const std::string whose = "the certificate of the glue at " + join_string.address;
  switch (code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      throw WrongTls(whose +
                     " is not signed by the authority that you trust: ask the host for its "
                     "present join string, or somebody else answers there");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      throw WrongTls(whose + " is not made out to '" + name +
                     "': give the name that it is made out to (Options::tls_name), or use the "
                     "host's join string");
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      throw WrongTls(whose +
                     (code == X509_V_ERR_CERT_HAS_EXPIRED ? " has expired" : " is not valid yet") +
                     ": the host must renew it, or a clock is wrong");
    default: throw WrongTls(whose + " cannot be trusted: " + X509_verify_cert_error_string(code));
  }
}

/// Throws the reason of a failed handshake; returns if the glue may come back.
void throw_handshake(SSL* tls, const JoinString& join_string, const std::string& name) {
  const unsigned long error = ERR_peek_error();
  const char* reason = ERR_reason_error_string(error);
  const std::string words = reason ? reason : "";
  const long verified = SSL_get_verify_result(tls);
  ERR_clear_error();
  if (verified != X509_V_OK) throw_certificate(verified, join_string, name);
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return;
#endif
  if (words.find("alert") != words.npos) {  // TLS's own words, from the other end
    throw WrongTls("the glue at " + join_string.address + " refused the TLS handshake: " + words);
  }
  if (join_string.authority.empty()) return;
  throw WrongTls("what answers at " + join_string.address +
                 " does not speak TLS, although the join string asks for TLS: ask the host for its "
                 "present join string; nothing was sent without TLS");
}

/// Whether the glue ends the connection after the handshake without a word; else it says something.
bool is_shut(SSL* tls, int fd, Clock::time_point until) {
  while (true) {
    ERR_clear_error();
    char byte = 0;
    const int result = SSL_read(tls, &byte, 1);
    if (result > 0) return false;
    if (SSL_get_error(tls, result) != SSL_ERROR_WANT_READ) return true;
    if (!is_ready(fd, POLLIN, until)) return false;
  }
}

/// One connection, up to the handshake; returns whether it was shut after that. Throws WrongTls.
bool is_shut_after_handshake(const JoinString& join_string, Clock::time_point until) {
  const std::string name = wanted_name(join_string);
  const Socket socket = dialled(join_string.address, until);
  if (socket.fd() < 0) return false;
  const NoBrokenPipe no_broken_pipe;
  const OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  const OpensslPtr<SSL> tls = session(context.get(), join_string, name, socket.fd());
  switch (shake(tls.get(), socket.fd(), until)) {
    case Outcome::Bad: throw_handshake(tls.get(), join_string, name); return false;
    case Outcome::Good:
      if (!join_string.authority.empty()) return is_shut(tls.get(), socket.fd(), until);
      throw WrongTls("the glue at " + join_string.address +
                     " speaks TLS: give its whole join string, or the certificate of its "
                     "authority (Options::ca)");
    case Outcome::CutOff: break;
  }
  return false;
}

}  // namespace

void throw_tls_trouble(const JoinString& join_string, Clock::duration timeout) {
  const Clock::time_point until = Clock::now() + timeout;
  // A glue that asks for a certificate closes the connection, and sends no alert. One that stops
  // just now does not do so twice.
  for (int tries = 0; tries < 2; ++tries) {
    if (!is_shut_after_handshake(join_string, until)) return;
  }
  const std::string file = own_certificate().path;
  throw WrongTls("the glue at " + join_string.address +
                 (file.empty() ? " asks for a certificate of yours: set REGLUE_CERT to the file "
                                 "that the host gave you"
                               : " does not accept the certificate in " + file +
                                     " (REGLUE_CERT): ask the host for a new one"));
}

}  // namespace reglue
