#include "reglue/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace reglue {

namespace {

std::atomic<int> received_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers store it");

/// As shells say of a program that a signal ended.
constexpr int kExitCodes = 128;

/// The process with id 1 of a container is not ended by a signal's default, so it exits here.
extern "C" void reglue_note_signal(int signal) {
  if (received_signal.exchange(signal) != 0) ::_exit(kExitCodes + signal);
}

bool is(int signal, void (*wanted)(int)) {
  struct sigaction present{};
  return sigaction(signal, nullptr, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
         present.sa_handler == wanted;
}

void set(int signal, void (*handler)(int)) {
  struct sigaction wanted{};
  wanted.sa_handler = handler;
  sigemptyset(&wanted.sa_mask);
  sigaction(signal, &wanted, nullptr);  // without SA_RESTART: waits look at once
}

bool handle(int signal) {
  if (!is(signal, SIG_DFL)) return false;
  set(signal, reglue_note_signal);
  return true;
}

void release(int signal) {
  if (is(signal, reglue_note_signal)) set(signal, SIG_DFL);
}

}  // namespace

HandledSignals::HandledSignals() noexcept
    : handles_interrupt_(handle(SIGINT)), handles_termination_(handle(SIGTERM)) {}

HandledSignals::~HandledSignals() {
  if (handles_interrupt_) release(SIGINT);
  if (handles_termination_) release(SIGTERM);
}

int HandledSignals::received() noexcept { return received_signal; }

}  // namespace reglue
