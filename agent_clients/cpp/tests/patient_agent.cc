// Waits for each call a hundredth of a second at a time; its answers say whether that took longer.
#include <chrono>

#include "reglue/session.h"

int main() {
  reglue::AgentSession session({}, {});
  while (true) {
    bool has_waited = false;
    while (!session.wait(std::chrono::milliseconds(10))) has_waited = true;
    const reglue::AgentCall* call = session.next();
    if (!call) return 0;
    if (call->kind == reglue::AgentCall::Kind::Message) {
      session.reply_message(has_waited ? "I have waited" : "at once");
    } else {
      session.done();
    }
  }
}
