// Wrong uses, a row each: the use, its call, the code or class of the error that it must throw, and
// what its message says. A wrong use changes nothing: rows with kFine are carried out between them.
// `misuse experiment` is run with a glue whose agent and environment leave with the first session,
// `misuse` without one. Exit code 0 if all rows are right.
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <string>

#include "reglue/environment_session.h"
#include "reglue/errors.h"
#include "reglue/experiment.h"
#include "reglue/session.h"

namespace {

constexpr const char* kFine = "";

int wrong = 0;

void row(const char* use, const std::function<void()>& call, const std::string& wanted,
         const char* words) {
  std::string error = kFine, message;
  try {
    call();
  } catch (const reglue::RoutineRefused& thrown) {
    error = thrown.code, message = thrown.what();
  } catch (const reglue::UsageError& thrown) {
    error = "UsageError", message = thrown.what();
  } catch (const reglue::SessionLost& thrown) {
    error = "SessionLost", message = thrown.what();
  } catch (const std::exception& thrown) {
    error = "another error", message = thrown.what();
  }
  if (error == wanted && message.find(words) != std::string::npos) return;
  std::cerr << use << ": got " << error << ", wanted " << wanted << " and '" << words
            << "': " << message << "\n";
  wrong = 1;
}

void alone() {
  reglue::Options options;
  options.address = "nowhere";
  row("a wrong address", [&] { reglue::AgentSession(options, {}); }, "UsageError", "nowhere");
  options.address = "127.0.0.1:1";
  options.token = "\xff";
  row("a token that is no text", [&] { reglue::AgentSession(options, {}); }, "UsageError", "token");
  options.token = "T";
  reglue::AgentSession session(options, {});
  row("done before a call", [&] { session.done(); }, "UsageError", "wanted next() first");
  row("act before a call", [&] { session.act(); }, "UsageError", "only a Turn");
  row(
      "answer before a call", [&] { session.reply_message(""); }, "UsageError",
      "wanted next() first");
  reglue::EnvironmentSession environment(options, "world", 0);
  row(
      "done before an environment's call", [&] { environment.done(); }, "UsageError",
      "wanted next() first");
  row("played before a call", [&] { environment.played(); }, "UsageError", "wanted next() first");
}

void experiment() {
  reglue::Experiment rl;
  row("start before init", [&] { rl.rl_start(); }, "OUT_OF_ORDER", "RL_init");
  row(
      "init of no slots", [&] { rl.rl_init(0); }, "OUT_OF_DOMAIN",
      "got slots 0, wanted an integer from 1 to 4294967295");
  row(
      "a seed out of range", [&] { rl.rl_init(1, UINT64_MAX); }, "OUT_OF_DOMAIN",
      "got seed 18446744073709551615");
  row("init", [&] { rl.rl_init(2, INT64_MAX); }, kFine, "");
  row("step before start", [&] { rl.rl_step(); }, "OUT_OF_ORDER", "RL_start");
  row("start", [&] { rl.rl_start(); }, kFine, "");
  row(
      "actions of a wrong size", [&] { rl.rl_env_step(rl.new_actions(3)); }, "WRONG_SIZE",
      "12 bytes");
  row("actions of a wrong name", [&] { rl.new_actions(1)["x"]; }, "UsageError", "tensor x");
  row("an unknown slot", [&] { rl.rl_step({7}); }, "OUT_OF_DOMAIN", "got slot 7, wanted 0 to 1");
  row("a slot twice", [&] { rl.rl_step({1, 1}); }, "OUT_OF_DOMAIN", "got slots [1, 1]");
  row("an unsupported routine", [&] { rl.rl_set_state("key"); }, "NOT_SUPPORTED", "RL_set_state");
  row("an unknown task", [&] { rl.rl_init(1, 0, "none"); }, "OUT_OF_DOMAIN", "got task 'none'");
  row("a task that is no text", [&] { rl.rl_init(1, 0, "\xff"); }, "OUT_OF_DOMAIN", "UTF-8");
  row("a message that is no text", [&] { rl.rl_env_message("\xff"); }, "OUT_OF_DOMAIN", "UTF-8");
  row("step", [&] { rl.rl_step(); }, kFine, "");
  row("close", [&] { rl.close(); }, kFine, "");
  row("a routine after close", [&] { rl.rl_num_steps(); }, "SessionLost", "the program has left");
  rl = reglue::Experiment();
  row(
      "a timeout of 0", [&] { rl.set_timeout(std::chrono::milliseconds(0)); }, "UsageError",
      "got a timeout of 0 ms");
  rl.set_timeout(std::chrono::milliseconds(100));
  row(
      "a routine that takes too long", [&] { rl.rl_init(); }, "SessionLost",
      "longer than its 100 ms");
  row("a routine after that", [&] { rl.rl_freeze(); }, "SessionLost", "longer than its 100 ms");
}

}  // namespace

int main(int argc, char**) {
  argc == 2 ? experiment() : alone();
  return wrong;
}
