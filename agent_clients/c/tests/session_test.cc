// A client that finds no glue, and may be stopped meanwhile. Wrong uses are in misuse.c.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <future>

#include "reglue.h"

namespace {

reglue_options nobody() {
  reglue_options options{};
  options.address = "127.0.0.1:1";
  options.token = "T";
  options.connect_timeout_s = 0.001;
  return options;
}

TEST(Session, ThatFindsNoGlueSaysSo) {
  const reglue_options options = nobody();
  reglue_session* session;
  ASSERT_EQ(reglue_connect(&options, &session), REGLUE_OK);
  const reglue_call* call;
  EXPECT_EQ(reglue_next(session, &call), REGLUE_UNREACHABLE);
  EXPECT_EQ(call, nullptr);
  EXPECT_NE(std::strstr(reglue_errmsg(session), "127.0.0.1:1"), nullptr);
  EXPECT_EQ(reglue_next(session, &call), REGLUE_LOST);  // REGLUE_DONE would be a farewell
  reglue_close(session);
}

TEST(Session, AWaitWithATimeLimitEndsWhileNoGlueIsUp) {
  reglue_options options = nobody();
  options.connect_timeout_s = 3600;
  reglue_session* session;
  ASSERT_EQ(reglue_connect(&options, &session), REGLUE_OK);
  const reglue_call* call;
  EXPECT_EQ(reglue_next_within(session, 0.001, &call), REGLUE_WAITING);
  EXPECT_EQ(call, nullptr);
  EXPECT_STREQ(reglue_errmsg(session), "");
  EXPECT_EQ(reglue_next_within(session, 0, &call), REGLUE_WAITING);
  reglue_close(session);
}

/// Starts `next` in a thread, calls `stop`; returns what `next` returned. It would wait for an
/// hour.
template <class Next, class Stop>
int stopped(Next next, Stop stop) {
  std::future<int> waiting = std::async(std::launch::async, next);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  stop();
  return waiting.get();
}

TEST(Session, IsStoppedByAnotherThreadWhileNoGlueIsUp) {
  reglue_options options = nobody();
  options.connect_timeout_s = 3600;
  reglue_session* session;
  ASSERT_EQ(reglue_connect(&options, &session), REGLUE_OK);
  const reglue_call* call;
  EXPECT_EQ(stopped([&] { return reglue_next(session, &call); }, [&] { reglue_stop(session); }),
            REGLUE_DONE);
  EXPECT_STREQ(reglue_errmsg(session), "the program has stopped the session");
  reglue_stop(session);  // of a session that is over
  reglue_close(session);
}

TEST(Environment, IsStoppedByAnotherThreadWhileNoGlueIsUp) {
  reglue_options options = nobody();
  options.connect_timeout_s = 3600;
  reglue_environment* environment;
  ASSERT_EQ(reglue_environment_connect(&options, &environment), REGLUE_OK);
  const reglue_environment_call* environment_call;
  EXPECT_EQ(stopped([&] { return reglue_environment_next(environment, &environment_call); },
                    [&] { reglue_environment_stop(environment); }),
            REGLUE_DONE);
  EXPECT_STREQ(reglue_environment_errmsg(environment), "the program has stopped the session");
  reglue_environment_close(environment);
}

TEST(Process, StopsAllThatWait) {
  volatile std::sig_atomic_t stop = 0;
  reglue_set_stop(&stop);
  reglue_options options = nobody();
  options.connect_timeout_s = 3600;
  reglue_session* session;
  reglue_environment* environment;
  reglue_experiment* experiment;
  ASSERT_EQ(reglue_connect(&options, &session), REGLUE_OK);
  ASSERT_EQ(reglue_environment_connect(&options, &environment), REGLUE_OK);
  const int joined =
      stopped([&] { return reglue_experiment_connect(&options, &experiment); }, [&] { stop = 1; });
  EXPECT_EQ(joined, REGLUE_LOST);
  EXPECT_STREQ(reglue_experiment_errmsg(experiment), "interrupted");
  const reglue_call* call;
  EXPECT_EQ(reglue_next(session, &call), REGLUE_DONE);
  const reglue_environment_call* environment_call;
  EXPECT_EQ(reglue_environment_next(environment, &environment_call), REGLUE_DONE);
  reglue_set_stop(nullptr);
  reglue_close(session);
  reglue_environment_close(environment);
  reglue_experiment_close(experiment);
}

TEST(Experiment, ThatFindsNoGlueCallsNoRoutine) {
  const reglue_options options = nobody();
  reglue_experiment* experiment;
  EXPECT_EQ(reglue_experiment_connect(&options, &experiment), REGLUE_UNREACHABLE);
  EXPECT_EQ(reglue_rl_freeze(experiment), REGLUE_LOST);
  EXPECT_EQ(reglue_rl_return(experiment, 0, nullptr), REGLUE_USAGE);
  EXPECT_NE(std::strstr(reglue_experiment_errmsg(experiment), "got NULL"), nullptr);
  reglue_experiment_close(experiment);
}

TEST(Results, HaveExitCodes) {
  EXPECT_EQ(reglue_exit_code(REGLUE_DONE), 0);
  EXPECT_EQ(reglue_exit_code(REGLUE_LOST), 1);
  EXPECT_EQ(reglue_exit_code(REGLUE_OUT_OF_ORDER), 1);
  EXPECT_EQ(reglue_exit_code(REGLUE_UNREACHABLE), 1);
  EXPECT_EQ(reglue_exit_code(REGLUE_WRONG_TOKEN), 2);
  EXPECT_EQ(reglue_exit_code(REGLUE_USAGE), 2);
}

TEST(Results, HaveNames) {
  EXPECT_STREQ(reglue_result_name(REGLUE_OUT_OF_ORDER), "OUT_OF_ORDER");
  EXPECT_STREQ(reglue_result_name(-5), "UNKNOWN");
  EXPECT_STREQ(reglue_version(), "0.1.0");
}

}  // namespace
