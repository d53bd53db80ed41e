#include "reglue/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "program.h"
#include "reglue/connect.h"
#include "reglue/environment_session.h"
#include "reglue/errors.h"
#include "reglue/experiment.h"

namespace reglue {
namespace {

Options nobody() {
  Options options;
  options.address = "127.0.0.1:1";
  options.connect_timeout = std::chrono::milliseconds(1);
  options.log = [](const std::string&) {};
  return options;
}

int run(std::vector<std::string> words, const Options& options) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Agent agent;
  return run_agent(agent, static_cast<int>(argv.size()), argv.data(), options);
}

TEST(EnvironmentSession, ThatFindsNoGlueIsOver) {
  EnvironmentSession session(nobody(), "world", 0);
  EXPECT_THROW(session.next(), Unreachable);
  EXPECT_THROW(session.next(), SessionLost);
  session.fault("too late");
}

TEST(Session, ThatFindsNoGlueIsOver) {
  AgentSession session(nobody(), {});
  EXPECT_THROW(session.next(), Unreachable);
  EXPECT_THROW(session.next(), SessionLost);  // null would be a farewell
  session.fault("too late");
  session.close();
}

Options nobody_for_long() {
  Options options = nobody();
  options.connect_timeout = std::chrono::hours(1);
  return options;
}

TEST(Session, ThatWaitsIsStoppedByAnotherThread) {
  AgentSession session(nobody_for_long(), {});
  std::thread stopper([&] { session.stop(); });
  EXPECT_EQ(session.next(), nullptr);
  EXPECT_EQ(session.farewell(), "the program has stopped the session");
  EXPECT_EQ(session.next(), nullptr);
  stopper.join();
}

AgentSession* interrupted = nullptr;

TEST(Session, IsStoppedByASignalHandler) {
  AgentSession session(nobody_for_long(), {});
  interrupted = &session;
  const auto before = std::signal(SIGUSR1, [](int) { interrupted->stop(); });
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  EXPECT_EQ(session.next(), nullptr);
}

TEST(Session, IsStoppedByTheOptionsOfAnyRole) {
  Options options = nobody_for_long();
  options.stop = [] { return true; };
  Agent agent;
  EXPECT_EQ(connect(agent, options), "the program has stopped the session");
  EXPECT_EQ(run({}, options), 0);
  EXPECT_THROW(Experiment{options}, Stopped);
}

TEST(Session, WaitsNoLongerThanItsLimit) {
  AgentSession session(nobody_for_long(), {});
  EXPECT_FALSE(session.wait(std::chrono::milliseconds(1)));
  EXPECT_FALSE(session.wait(std::chrono::milliseconds(0)));
  session.stop();
  EXPECT_TRUE(session.wait(std::chrono::milliseconds::max()));
}

TEST(Session, TakesLimitsThatNoClockHolds) {
  Options options = nobody();
  options.connect_timeout = std::chrono::milliseconds::max();
  AgentSession agent(options, {});
  EXPECT_FALSE(agent.wait(std::chrono::milliseconds(200)));
  EXPECT_FALSE(agent.wait(std::chrono::milliseconds::min()));
  EnvironmentSession environment(options, "world", 0);
  EXPECT_FALSE(environment.wait(std::chrono::milliseconds::min()));
}

TEST(RunAgent, SaysByItsCodeWhoseFaultItWas) {
  EXPECT_EQ(run({}, nobody()), 1);
  EXPECT_EQ(run({"--transport", "pigeon"}, nobody()), 2);
  EXPECT_EQ(run({"--help-me"}, nobody()), 2);
  EXPECT_EQ(run({"127.0.0.1:0"}, nobody()), 2);
}

int run(const Playing& play) {
  char name[] = "program";
  char* argv[] = {name};
  return run_program(play, 1, argv, nobody());
}

TEST(RunProgram, TellsThePeersOwnErrorsFromItsUse) {
  EXPECT_EQ(run([](Options, bool&) -> std::string { throw UsageError("no address"); }), 2);
  EXPECT_EQ(run([](Options, bool& has_failed) -> std::string {
              has_failed = true;
              throw UsageError("there is no tensor");
            }),
            1);
  EXPECT_EQ(run([](Options, bool& has_failed) -> std::string {
              has_failed = true;
              throw 42;
            }),
            1);
}

}  // namespace
}  // namespace reglue
