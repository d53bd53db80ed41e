#include "reglue/session.h"

#include <gtest/gtest.h>

#include "reglue/connect.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

Options nobody() {
  Options options;
  options.address = "127.0.0.1:1";
  options.patience = std::chrono::milliseconds(1);
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

TEST(Session, NothingIsAnsweredBeforeACall) {
  AgentSession session(nobody(), {});
  EXPECT_THROW(session.done(), UsageError);
  EXPECT_THROW(session.act(), UsageError);
  EXPECT_THROW(session.reply_message(""), UsageError);
}

TEST(Session, ThatFindsNoGlueIsOver) {
  AgentSession session(nobody(), {});
  EXPECT_THROW(session.next(), Unreachable);
  EXPECT_EQ(session.next(), nullptr);
  session.fault("too late");
  session.close();
}

TEST(Session, AnAddressThatIsNoneIsRefusedAtOnce) {
  Options options;
  options.address = "nowhere";
  EXPECT_THROW(AgentSession(options, {}), UsageError);
}

TEST(RunAgent, SaysByItsCodeWhoseFaultItWas) {
  EXPECT_EQ(run({}, nobody()), 1);
  EXPECT_EQ(run({"--transport", "pigeon"}, nobody()), 2);
  EXPECT_EQ(run({"--help-me"}, nobody()), 2);
  EXPECT_EQ(run({"127.0.0.1:0"}, nobody()), 2);
}

}  // namespace
}  // namespace reglue
