#include "log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "net/outage.h"
#include "reglue/errors.h"
#include "reglue/v1/agent.pb.h"

namespace reglue {
namespace {

/// An environment variable, for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

std::string on_stderr(const std::function<void()>& act) {
  ::testing::internal::CaptureStderr();
  act();
  return ::testing::internal::GetCapturedStderr();
}

std::string all_levels() {
  std::string lines;
  Options options;
  options.log = [&](const std::string& line) { lines += line; };
  const Log log(options);
  log.error("E");
  log.warning("W");
  log.info("I");
  return lines;
}

TEST(Log, HasTheLevelThatTheEnvironmentWants) {
  EXPECT_EQ(all_levels(), "EW");
  for (const auto& [level, lines] : {std::pair{"error", "E"}, {"warning", "EW"}, {"info", "EWI"}}) {
    const Variable wanted("REGLUE_LOG", level);
    EXPECT_EQ(all_levels(), lines);
  }
  const Variable wanted("REGLUE_LOG", "debug");
  EXPECT_THROW(all_levels(), UsageError);
}

TEST(Log, OnStderrTellsTimeAndLevel) {
  const std::string line = on_stderr([] { Log(Options()).warning("lost"); });
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z reglue warning: lost\n)")))
      << line;
}

TEST(Timestamp, IsUtcToTheMillisecond) {
  const std::chrono::milliseconds since(1'795'519'201'034);
  EXPECT_EQ(timestamp(std::chrono::system_clock::time_point(since)), "2026-11-24T11:20:01.034Z");
}

TEST(Outage, IsALineWhenTheConnectionIsLostAndOneWhenItIsBack) {
  std::string lines;
  Options options;
  options.log = [&](const std::string& line) { lines += line + "\n"; };
  const Log log(options);
  Outage outage(log);
  outage.end();
  for (int i = 0; i < 5; ++i) outage.begin("it is gone", std::chrono::seconds(60));
  for (int i = 0; i < 2; ++i) outage.end();
  EXPECT_EQ(lines,
            "lost the connection, reconnecting for up to 60.0 s: it is gone\n"
            "connected again after 0.0 s\n");
}

void trace_a_turn() {
  v1::AgentCall call;
  call.set_seq(1);
  call.mutable_turn()->set_phase(v1::PHASE_TRAIN);
  v1::AgentReply reply;
  reply.set_seq(1);
  Trace trace;
  trace.begin(call);
  trace.end(reply);
}

TEST(Trace, IsALineForEachCallIfItIsWanted) {
  EXPECT_EQ(on_stderr(trace_a_turn), "");
  const Variable wanted("REGLUE_TRACE", "1");
  const std::string line = on_stderr(trace_a_turn);
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(\S+Z reglue call turn 6 bytes, answered by 2 bytes in \d+\.\d\d ms\n)")))
      << line;
}

TEST(Trace, ThatIsNeitherOnNorOffIsRefused) {
  const Variable wanted("REGLUE_TRACE", "yes");
  EXPECT_THROW(Trace(), UsageError);
}

}  // namespace
}  // namespace reglue
