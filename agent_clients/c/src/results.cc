#include "results.h"

#include <new>

#include "reglue.h"
#include "reglue/errors.h"
#include "reglue/signals.h"

namespace reglue::c {
namespace {

/// The result of a refused routine, from the protocol's name of the reason.
int code_of_refusal(const std::string& name) {
  for (int code = REGLUE_WRONG_SIZE; code < REGLUE_REFUSED_ROUTINE; ++code) {
    if (name == reglue_result_name(code)) return code;
  }
  return REGLUE_REFUSED_ROUTINE;
}

/// The result of the exception in flight; throws it on if it is unknown.
int code_of(std::string& message) {
  try {
    throw;
  } catch (const std::exception& error) {
    message = error.what();
  }
  try {
    throw;
  } catch (const RoutineRefused& refused) {
    return code_of_refusal(refused.code);
  } catch (const AgentFault&) {
    return REGLUE_AGENT_FAULT;
  } catch (const EnvironmentFault&) {
    return REGLUE_ENVIRONMENT_FAULT;
  } catch (const UsageError&) {
    return REGLUE_USAGE;
  } catch (const WrongToken&) {
    return REGLUE_WRONG_TOKEN;
  } catch (const WrongVersion&) {
    return REGLUE_WRONG_VERSION;
  } catch (const WrongTls&) {
    return REGLUE_WRONG_TLS;
  } catch (const Busy&) {
    return REGLUE_BUSY;
  } catch (const Refused&) {
    return REGLUE_REFUSED;
  } catch (const Unreachable&) {
    return REGLUE_UNREACHABLE;
  } catch (const std::bad_alloc&) {
    return REGLUE_NO_MEMORY;
  } catch (...) {
    return REGLUE_LOST;
  }
}

}  // namespace

int code_of_exception(std::string& message) noexcept {
  try {
    return code_of(message);
  } catch (...) {
    return REGLUE_NO_MEMORY;  // not even for the words
  }
}

}  // namespace reglue::c

const char* reglue_result_name(int result) {
  switch (result) {
    case REGLUE_OK: return "OK";
    case REGLUE_USAGE: return "USAGE";
    case REGLUE_MISUSE: return "MISUSE";
    case REGLUE_NO_MEMORY: return "NO_MEMORY";
    case REGLUE_UNREACHABLE: return "UNREACHABLE";
    case REGLUE_REFUSED: return "REFUSED";
    case REGLUE_WRONG_TOKEN: return "WRONG_TOKEN";
    case REGLUE_WRONG_VERSION: return "WRONG_VERSION";
    case REGLUE_WRONG_TLS: return "WRONG_TLS";
    case REGLUE_BUSY: return "BUSY";
    case REGLUE_LOST: return "LOST";
    case REGLUE_WRONG_SIZE: return "WRONG_SIZE";
    case REGLUE_OUT_OF_ORDER: return "OUT_OF_ORDER";
    case REGLUE_UNKNOWN_KEY: return "UNKNOWN_KEY";
    case REGLUE_NOT_SUPPORTED: return "NOT_SUPPORTED";
    case REGLUE_OUT_OF_DOMAIN: return "OUT_OF_DOMAIN";
    case REGLUE_REFUSED_ROUTINE: return "REFUSED_ROUTINE";
    case REGLUE_AGENT_FAULT: return "AGENT_FAULT";
    case REGLUE_ENVIRONMENT_FAULT: return "ENVIRONMENT_FAULT";
    case REGLUE_CALL: return "CALL";
    case REGLUE_DONE: return "DONE";
    case REGLUE_WAITING: return "WAITING";
  }
  return "UNKNOWN";
}

int reglue_exit_code(int result) {
  const int signal = reglue::HandledSignals::received();
  if (signal != 0 && (result == REGLUE_DONE || result == REGLUE_LOST)) return 128 + signal;
  switch (result) {
    case REGLUE_OK:
    case REGLUE_DONE: return 0;
    case REGLUE_USAGE:
    case REGLUE_REFUSED:
    case REGLUE_WRONG_TOKEN:
    case REGLUE_WRONG_VERSION:
    case REGLUE_WRONG_TLS:
    case REGLUE_BUSY: return 2;
    default: return 1;
  }
}

const char* reglue_version(void) { return REGLUE_VERSION; }
