#include "net/join/lobby.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <random>
#include <sstream>

#include "net/join/join_string.h"
#include "net/join/tls_diagnosis.h"
#include "net/streams/streams.h"
#include "reglue/errors.h"
#include "reglue/v1/lobby.grpc.pb.h"
#include "text.h"

namespace reglue {

namespace {

constexpr std::chrono::seconds kQuiet{2};  // before logging that it waits for a glue
constexpr std::chrono::seconds kHandshake{2};  // of the handshake that explains a failure
constexpr std::chrono::seconds kTry{5};        // one call of Join at most
constexpr std::chrono::milliseconds kLeast{100};  // but it must be able to succeed

std::string proof(const char* what, const std::string& secret, const std::string& session,
                  std::uint64_t answered) {
  const std::string text =
      "reglue.v1 " + std::string(what) + " " + session + " " + std::to_string(answered);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<char*>(digest), size};
}

/// Whether it is of this host.
bool is_near(const std::string& address) {
  if (socket_path(address)) return true;
  const std::string host = split_address(address).first;
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

grpc::ChannelArguments arguments(std::size_t max_message_bytes) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(static_cast<int>(max_message_bytes));
  arguments.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  // The answer to a ping waits behind a long message. Newer versions of gRPC have a second limit.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 300'000);
  arguments.SetInt("grpc.http2.ping_timeout_ms", 300'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A failed connection must not delay the next channel's.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

/// gRPC's log repeats what our errors say better. Later versions than 1.65 lack this function: they
/// log by Abseil, whose levels are the program's own.
template <class Severity>
auto quieten_grpc(Severity most) -> decltype(gpr_set_log_verbosity(most)) {
  if (!std::getenv("GRPC_VERBOSITY")) gpr_set_log_verbosity(most);
}
[[maybe_unused]] void quieten_grpc(...) {}

/// 128 random bits in hexadecimal.
std::string random_name() {
  std::random_device bits;
  std::ostringstream name;
  name << std::hex << std::setfill('0');
  for (int word = 0; word < 4; ++word) name << std::setw(8) << bits();
  return name.str();
}

std::string seconds(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  if (time.count() % 1000) text += "." + std::to_string(time.count() % 1000 / 100);
  return text + " s";
}

[[noreturn]] void throw_unreachable(const grpc::Status& status, const JoinString& join_string,
                                    std::chrono::milliseconds connect_timeout) {
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    throw Busy("the glue at " + join_string.address + " took nobody within " +
               seconds(connect_timeout) + ": " + glue_text(status.error_message()));
  }
  throw Unreachable("no glue answered at " + join_string.address + " within " +
                    seconds(connect_timeout) + "; is it running, and is the address right?");
}

}  // namespace

std::string sdk_of(const Options& options) {
  return options.sdk.empty() ? "reglue-cpp " REGLUE_VERSION : options.sdk;
}

std::string hello_proof(const std::string& secret, const std::string& session,
                        std::uint64_t answered) {
  return proof("hello", secret, session, answered);
}

std::string unix_socket_proof(const std::string& secret, const std::string& session,
                              std::uint64_t answered) {
  return proof("unix_socket", secret, session, answered);
}

std::shared_ptr<grpc::Channel> open_channel(const JoinString& join_string,
                                            std::size_t max_message_bytes) {
  quieten_grpc(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  grpc::ChannelArguments options = arguments(max_message_bytes);
  if (is_near(join_string.address)) {
    options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // `http_proxy` does not apply to loopback
  }
  if (join_string.authority.empty()) {
    return grpc::CreateCustomChannel(join_string.address, grpc::InsecureChannelCredentials(),
                                     options);
  }
  if (!join_string.tls_name.empty()) options.SetSslTargetNameOverride(join_string.tls_name);
  grpc::SslCredentialsOptions roots;  // explicitly: the environment may name others
  roots.pem_root_certs = to_pem(join_string.authority);
  roots.pem_cert_chain = roots.pem_private_key = own_certificate().pem;
  return grpc::CreateCustomChannel(join_string.address, grpc::SslCredentials(roots), options);
}

Joining::Joining(const JoinString& join_string, v1::Role role, const std::string& name,
                 std::chrono::milliseconds connect_timeout, const Log& log,
                 const Interrupt& interrupt)
    : join_string_(join_string),
      connect_timeout_(connect_timeout),
      log_(log),
      interrupt_(interrupt) {
  request_.set_major(kProtocolMajor);
  request_.set_minor(kProtocolMinor);
  request_.set_role(role);
  request_.set_token(join_string.token);
  request_.set_name(clean(name, kMostNameCharacters));
  request_.set_client(random_name());  // the same in every try
}

std::optional<v1::Ticket> Joining::ticket(const Deadline& until) {
  const Clock::time_point deadline = begun_ + connect_timeout_;
  while (interrupt_.sleep(next_try_, until)) {
    const Clock::duration left = std::max<Clock::duration>(deadline - Clock::now(), kLeast);
    v1::Ticket ticket;
    const grpc::Status status = ask(std::min<Clock::duration>(left, kTry), ticket);
    if (status.ok()) {
      log_.info("joined the glue at " + join_string_.address);
      return ticket;
    }
    const StreamEnded end(status.error_message(), status.error_code());
    if (end.is_refusal()) end.throw_meaning();
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {  // waiting does not fix TLS
      throw_tls_trouble(join_string_, std::min<Clock::duration>(left, kHandshake));
    }
    next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(pauses_.next());
    if (next_try_ > deadline) throw_unreachable(status, join_string_, connect_timeout_);
    if (!has_logged_ && Clock::now() - begun_ > kQuiet) {
      log_.warning("waiting for a glue at " + join_string_.address + ", up to " +
                   seconds(connect_timeout_));
      has_logged_ = true;
    }
  }
  return std::nullopt;
}

/// One try, over a new channel: one that has failed waits longer than we want.
grpc::Status Joining::ask(Clock::duration timeout, v1::Ticket& ticket) const {
  const auto lobby = v1::LobbyService::NewStub(open_channel(join_string_, kHubMessageBytes));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto call = lobby->AsyncJoin(&context, request_, &queue);
  call->Finish(&ticket, &status, nullptr);
  void* tag = nullptr;
  bool is_good = false;
  const auto slice = [] {
    return std::chrono::system_clock::now() + std::chrono::milliseconds(50);
  };
  while (queue.AsyncNext(&tag, &is_good, slice()) == grpc::CompletionQueue::TIMEOUT) {
    try {
      interrupt_.check();
    } catch (const Stopped&) {
      context.TryCancel();
      queue.Next(&tag, &is_good);
      throw;
    }
  }
  return status;
}

std::chrono::duration<double> Backoff::next() {
  const double pause_s = pause_s_;
  pause_s_ = std::min(pause_s_ * 1.6, 5.0);
  return std::chrono::duration<double>(pause_s);
}

}  // namespace reglue
