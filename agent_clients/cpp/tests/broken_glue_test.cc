// Sessions at glues that take nothing, or nobody.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "net/join/lobby.h"
#include "reglue/errors.h"
#include "reglue/session.h"
#include "reglue/v1/agent.pb.h"
#include "reglue/v1/lobby.grpc.pb.h"

namespace reglue {
namespace {

class Lobby : public v1::LobbyService::Service {
 public:
  std::string address;  // of its runs, if they are elsewhere
  std::atomic<int> tickets{std::numeric_limits<int>::max()};  // left; then nobody gets an answer

 private:
  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest*,
                    v1::Ticket* ticket) override {
    if (tickets-- <= 0) {
      while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ticket->set_session("session");
    ticket->set_max_message_bytes(kHubMessageBytes);
    ticket->set_reconnect_window_us(1'000'000);
    ticket->set_address(address);
    return grpc::Status::OK;
  }
};

/// Sends one message to whoever joins, and reads nothing, not even the hello.
class DeafGlue {
 public:
  DeafGlue() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&lobby_);
    builder.RegisterAsyncGenericService(&streams_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    streams_.RequestCall(&context_, &stream_, queue_.get(), queue_.get(), nullptr);
  }
  ~DeafGlue() {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    while (has_event()) {
    }
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  void call() {
    ASSERT_TRUE(has_event());  // somebody has opened a stream
    v1::AgentCall call;
    call.set_seq(1);
    call.mutable_message()->set_text("speak");
    const grpc::Slice bytes(call.SerializeAsString());
    stream_.Write(grpc::ByteBuffer(&bytes, 1), nullptr);
    ASSERT_TRUE(has_event());
  }

 private:
  bool has_event() {
    void* tag = nullptr;
    bool is_good = false;
    return queue_->Next(&tag, &is_good);
  }

  int port_ = 0;
  Lobby lobby_;
  grpc::AsyncGenericService streams_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
};

TEST(DeafGlue, HoldsNoProgramThatLeaves) {
  std::optional<DeafGlue> glue(std::in_place);
  Options options;
  options.address = glue->address();
  options.token = "token";
  AgentSession session(options, {});
  const auto called = std::async(std::launch::async, [&] { glue->call(); });
  ASSERT_NE(session.next(), nullptr);
  called.wait();
  session.reply_message(std::string(1 << 24, 'x'));
  session.stop();
  const auto left = std::async(std::launch::async, [&] { return session.next() == nullptr; });
  EXPECT_EQ(left.wait_for(std::chrono::minutes(5)), std::future_status::ready);
  glue.reset();  // lets go of one that it holds
}

/// Gives everybody a ticket, and ends every stream at once, as a proxy does before a glue that is
/// down.
class ClosedGlue : public grpc::CallbackGenericService {
 public:
  /// `is_hub`: tickets say where the run is.
  explicit ClosedGlue(grpc::Status end, bool is_hub = false) : end_(std::move(end)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&lobby_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (is_hub) lobby_.address = address();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// So many more peers get a ticket, and the others no answer.
  void limit_tickets(int tickets) { lobby_.tickets = tickets; }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    class Reactor : public grpc::ServerGenericBidiReactor {
     public:
      explicit Reactor(const grpc::Status& end) { Finish(end); }
      void OnDone() override { delete this; }
    };
    return new Reactor(end_);
  }

 private:
  const grpc::Status end_;
  int port_ = 0;
  Lobby lobby_;
  std::unique_ptr<grpc::Server> server_;
};

Options joining(const ClosedGlue& glue) {
  Options options;
  options.address = glue.address();
  options.token = "token";
  options.connect_timeout = std::chrono::seconds(1);
  return options;
}

const grpc::Status kDown(grpc::StatusCode::UNAVAILABLE, "down");
const grpc::Status kForgotten(grpc::StatusCode::UNAUTHENTICATED, "no such session");

TEST(ClosedGlue, IsALostConnectionAndALineOnce) {
  const ClosedGlue glue(kDown);
  std::string lines;
  Options options = joining(glue);
  options.log = [&](const std::string& line) { lines += line + "\n"; };
  AgentSession session(options, {});
  try {
    session.next();
    FAIL() << "wanted SessionLost";
  } catch (const SessionLost& error) {
    const std::string said = error.what();
    EXPECT_EQ(said.rfind("the glue went away: down; gave up. A competition keeps", 0), 0) << said;
  }
  EXPECT_EQ(lines, "lost the connection, reconnecting for up to 1.0 s: the glue went away: down\n");
}

/// Waits for the next call; stops the session if that takes for ever.
template <class Error>
void expect_over(AgentSession& session) {
  auto next = std::async(std::launch::async, [&] { return session.next(); });
  if (next.wait_for(std::chrono::minutes(1)) != std::future_status::ready) session.stop();
  EXPECT_THROW(next.get(), Error);
}

TEST(ClosedGlue, ThatForgetsEverySessionIsAbandonedAfterTheConnectTimeout) {
  const ClosedGlue glue(kForgotten);
  AgentSession session(joining(glue), {});
  expect_over<WrongToken>(session);
}

TEST(ClosedGlue, ThatForgetsASessionAndAnswersNoMoreIsNoWrongAddress) {
  ClosedGlue glue(kForgotten);
  glue.limit_tickets(1);
  AgentSession session(joining(glue), {});
  expect_over<WrongToken>(session);
}

TEST(ClosedGlue, WhoseRunsAreAllGoneIsAbandonedAfterTheConnectTimeout) {
  const ClosedGlue glue(kDown, true);
  AgentSession session(joining(glue), {});
  expect_over<SessionLost>(session);
}

}  // namespace
}  // namespace reglue
