#include "reglue/environment_session.h"

#include "environments/environment_connection.h"
#include "text.h"

namespace reglue {
namespace {

/// The environment's hello.
AnsweringSession<EnvironmentWire>::Hello hello_of(const Options& options, const std::string& name,
                                                  std::uint32_t max_slots) {
  return [max_slots, name = clean(name, kMostNameCharacters), sdk = sdk_of(options)](
             v1::EnvironmentReply& reply, const v1::Ticket& ticket, std::uint64_t answered) {
    v1::EnvironmentHello& hello = *reply.mutable_hello();
    greet(hello, sdk, ticket, answered);
    hello.set_environment(name);
    hello.set_max_slots(max_slots);
  };
}

}  // namespace

EnvironmentConnection::EnvironmentConnection(const Options& options, const std::string& name,
                                             std::uint32_t max_slots)
    : session_(options, name, hello_of(options, name, max_slots)), codec_(max_slots) {}

const EnvironmentCall* EnvironmentConnection::next() {
  wait(std::nullopt);
  if (!has_call_) return nullptr;
  has_call_ = false;
  return &codec_.call();
}

bool EnvironmentConnection::wait(const Deadline& until) {
  if (has_call_) return true;
  if (codec_.is_open()) throw UsageError("the last call was not answered yet");
  while (session_.wait(until)) {
    v1::EnvironmentCall* message = session_.next();
    if (!message) return true;
    try {
      has_call_ = codec_.read(*message, session_.reply());
    } catch (const BadReply& error) {
      codec_.close();
      session_.lose(error.what());
    }
    if (has_call_) return true;
    session_.answer();
  }
  return false;
}

void EnvironmentConnection::answer() {
  session_.answer();
  codec_.close();
}

void EnvironmentConnection::fault(std::string_view what) {
  session_.fault(codec_.is_open() ? codec_.call().seq : 0, what);
  codec_.close();
  has_call_ = false;
}

void EnvironmentConnection::close() {
  session_.close("the environment has left");
  codec_.close();
  has_call_ = false;
}

EnvironmentSession::EnvironmentSession(const Options& options, const std::string& name,
                                       std::uint32_t max_slots)
    : connection_(std::make_unique<EnvironmentConnection>(
          options, options.name.empty() ? name : options.name, max_slots)) {}
EnvironmentSession::~EnvironmentSession() = default;
EnvironmentSession::EnvironmentSession(EnvironmentSession&&) noexcept = default;
EnvironmentSession& EnvironmentSession::operator=(EnvironmentSession&&) noexcept = default;

const EnvironmentCall* EnvironmentSession::next() { return connection_->next(); }

bool EnvironmentSession::wait(std::chrono::milliseconds limit) {
  return connection_->wait(Clock::now() + limited(limit));
}

void EnvironmentSession::stop() noexcept { connection_->stop(); }

void EnvironmentSession::ready(TaskSpec spec, const EnvironmentTraits& traits) {
  connection_->codec().ready(std::move(spec), traits);
  connection_->answer();
}

Outcome& EnvironmentSession::outcome() { return connection_->codec().outcome(); }

void EnvironmentSession::played() {
  connection_->codec().played();
  connection_->answer();
}

void EnvironmentSession::keep(std::string bytes) {
  connection_->codec().keep(std::move(bytes));
  connection_->answer();
}

void EnvironmentSession::done() {
  connection_->codec().done();
  connection_->answer();
}

void EnvironmentSession::reply_message(std::string text) {
  connection_->codec().reply_message(std::move(text));
  connection_->answer();
}

void EnvironmentSession::refuse(const RoutineRefused& refused) {
  connection_->codec().refuse(refused);
  connection_->answer();
}

void EnvironmentSession::fault(std::string_view what) { connection_->fault(what); }
void EnvironmentSession::close() { connection_->close(); }
const std::string& EnvironmentSession::farewell() const { return connection_->farewell(); }

}  // namespace reglue
