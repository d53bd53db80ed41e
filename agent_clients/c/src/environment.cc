// An environment's session: reglue_environment_connect, reglue_environment_next and their like.
#include <algorithm>
#include <atomic>
#include <new>
#include <optional>

#include "options.h"
#include "reglue.h"
#include "reglue/environment_session.h"
#include "results.h"
#include "specs.h"

using reglue::EnvironmentCall;
using reglue::EnvironmentSession;
using reglue::c::guarded;
using reglue::c::milliseconds_of;
using reglue::c::SpecView;
using Kind = EnvironmentCall::Kind;

struct reglue_environment {
  std::atomic<bool> is_stopped = false;  // by reglue_environment_stop, from any thread
  std::optional<EnvironmentSession> session;  // none if it could not be made, or is over
  std::string message;                        // for reglue_environment_errmsg
  std::optional<SpecView> spec;               // of the last ready
  const EnvironmentCall* open = nullptr;      // that waits for its answer
  reglue_environment_call call{};             // the C view of `open`
  std::string text;
  std::vector<std::string> tasks;  // names of cells
  std::vector<reglue_cell> cells;
  std::vector<const void*> actions;
  std::vector<void*> observations;
};

namespace {

static_assert(static_cast<int>(Kind::Cleanup) + REGLUE_ENV_INIT == REGLUE_ENV_CLEANUP,
              "enum reglue_environment_kind is EnvironmentCall::Kind, counted from 1");

/// Carries out `routine`. `has_arguments`: no required pointer is NULL.
template <class Routine>
int carried_out(reglue_environment* self, bool has_arguments, Routine&& routine) {
  if (!self) return REGLUE_USAGE;
  return guarded(self->message, [&]() -> int {
    if (!has_arguments) throw reglue::UsageError(reglue::c::kGotNull);
    return routine();
  });
}

int misuse(reglue_environment& self, const char* what) {
  self.message = what;
  return REGLUE_MISUSE;
}

bool waits_for(const reglue_environment& self, Kind kind) {
  return self.open && self.open->kind == kind;
}

bool wants_bytes(const reglue_environment& self) {
  return waits_for(self, Kind::GetState) || waits_for(self, Kind::GetRandomSeed);
}

/// Carries out `routine`, which answers the open call, if `is_right`; else the message is `what`.
template <class Routine>
int answered(reglue_environment* self, bool has_arguments,
             bool (*is_right)(const reglue_environment&), const char* what, Routine&& routine) {
  return carried_out(self, has_arguments, [&]() -> int {
    if (!is_right(*self)) return misuse(*self, what);
    routine(*self->session);
    self->open = nullptr;
    return REGLUE_OK;
  });
}

reglue_cell cell_of(const reglue::Cell& cell, const std::string& task) {
  return {task.c_str(), cell.variant, static_cast<std::int32_t>(cell.phase),
          cell.seed,    cell.repeat,  cell.steps};
}

void show_play(reglue_environment& self, const EnvironmentCall& open) {
  reglue_environment_call& call = self.call;
  const reglue::Outcome& outcome = self.session->outcome();
  call.steps = static_cast<std::uint32_t>(open.step_slots.size());
  call.starts = static_cast<std::uint32_t>(open.cells.size());
  call.step_slots = open.step_slots.data();
  call.start_slots = open.cells.slots.data();
  self.tasks.clear();
  for (const reglue::Cell& cell : open.cells.cells) self.tasks.emplace_back(cell.task);
  self.cells.clear();
  for (std::size_t i = 0; i < open.cells.size(); ++i) {
    self.cells.push_back(cell_of(open.cells.cells[i], self.tasks[i]));
  }
  call.cells = self.cells.data();
  self.actions.clear();
  for (const auto& rows : open.actions) self.actions.push_back(rows.bytes().data());
  call.actions = self.actions.empty() ? nullptr : self.actions.data();
  call.rewards = outcome.rewards.data();
  call.flags = outcome.flags.data();
  self.observations.clear();
  for (const auto& rows : outcome.observations) self.observations.push_back(rows.bytes().data());
  call.observations = self.observations.data();
}

/// Makes `self.call` of the open call.
void show(reglue_environment& self) {
  const EnvironmentCall& open = *self.open;
  reglue_environment_call& call = self.call;
  call = reglue_environment_call{};
  call.kind = static_cast<std::int32_t>(open.kind) + REGLUE_ENV_INIT;
  call.slots = open.slots;
  call.slot = open.slot;
  call.seed = open.seed;
  call.snapshot = open.snapshot.data();
  call.snapshot_bytes = open.snapshot.size();
  if (self.spec) call.spec = self.spec->get();
  self.text = open.text;
  call.text = self.text.c_str();
  if (open.kind == Kind::Play) show_play(self, open);
}

/// Answers the open call if it returns nothing; false if it must be answered first.
bool answer_by_nothing(reglue_environment& self) {
  if (!self.open) return true;
  if (waits_for(self, Kind::Init) || waits_for(self, Kind::Play) || wants_bytes(self)) return false;
  if (waits_for(self, Kind::Message)) {
    self.session->reply_message("");
  } else {
    self.session->done();
  }
  self.open = nullptr;
  return true;
}

/// Shows the next call; waits for it `timeout_s` seconds, or as long as it takes.
int next(reglue_environment* self, const reglue_environment_call** call,
         std::optional<double> timeout_s) {
  if (call) *call = nullptr;
  return carried_out(self, call, [&]() -> int {
    if (!self->session) {
      return misuse(*self, "the session is over; reglue_environment_connect makes another");
    }
    std::optional<std::chrono::milliseconds> limit;  // before anything is answered
    if (timeout_s) limit = milliseconds_of("timeout", *timeout_s);
    if (!answer_by_nothing(*self)) {
      return misuse(*self,
                    "the call waits for its answer: reglue_environment_ready, "
                    "reglue_environment_played or reglue_environment_snapshot comes first");
    }
    if (limit && !self->session->wait(*limit)) return REGLUE_WAITING;
    self->open = self->session->next();
    if (!self->open) {
      self->message = self->session->farewell();
      self->session.reset();
      return REGLUE_DONE;
    }
    show(*self);
    *call = &self->call;
    return REGLUE_CALL;
  });
}

std::vector<reglue::Task> tasks_of(const reglue_task* tasks, std::size_t count) {
  if (count == 0) return reglue::EnvironmentTraits{}.tasks;
  std::vector<reglue::Task> all;
  for (std::size_t i = 0; i < count; ++i) {
    if (!tasks[i].name) {
      throw reglue::UsageError("got task " + std::to_string(i) + " without a name, wanted one");
    }
    all.push_back({tasks[i].name, tasks[i].variants});
  }
  return all;
}

reglue::EnvironmentTraits traits_of(const reglue_task* tasks, std::size_t count,
                                    std::uint32_t offers) {
  const std::uint32_t known = REGLUE_STATES | REGLUE_PORTABLE_STATES | REGLUE_SEEDS |
                              REGLUE_STANDARDIZES | REGLUE_NO_SUCCESS | REGLUE_WHOLE_TURNS |
                              REGLUE_NOT_REPEATABLE;
  if (offers & ~known) {
    throw reglue::UsageError("got offers " + std::to_string(offers) +
                             ", wanted bits of enum reglue_offer");
  }
  reglue::EnvironmentTraits traits;
  traits.tasks = tasks_of(tasks, count);
  traits.restores = offers & REGLUE_STATES;
  traits.portable = offers & REGLUE_PORTABLE_STATES;
  traits.seeds = offers & REGLUE_SEEDS;
  traits.standardizes = offers & REGLUE_STANDARDIZES;
  traits.tells_success = !(offers & REGLUE_NO_SUCCESS);
  traits.whole_turns = offers & REGLUE_WHOLE_TURNS;
  traits.repeatable = !(offers & REGLUE_NOT_REPEATABLE);
  return traits;
}

reglue::RoutineRefused refusal_of(int code, const char* got, const char* wanted) {
  if (code != REGLUE_OUT_OF_ORDER && code != REGLUE_UNKNOWN_KEY && code != REGLUE_NOT_SUPPORTED &&
      code != REGLUE_OUT_OF_DOMAIN) {
    throw reglue::UsageError("got code " + std::to_string(code) +
                             ", wanted REGLUE_OUT_OF_ORDER, REGLUE_UNKNOWN_KEY, "
                             "REGLUE_NOT_SUPPORTED or REGLUE_OUT_OF_DOMAIN");
  }
  return {reglue_result_name(code), got, wanted};
}

bool plays_in(const EnvironmentCall& play, std::uint32_t slot) {
  const auto has = [slot](const auto& slots) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
  return has(play.step_slots) || has(play.cells.slots);
}

}  // namespace

int reglue_environment_connect(const reglue_options* options, reglue_environment** environment) {
  if (!environment) return REGLUE_USAGE;
  *environment = new (std::nothrow) reglue_environment;
  if (!*environment) return REGLUE_NO_MEMORY;
  reglue_environment& self = **environment;
  return guarded(self.message, [&] {
    reglue::Options session_options = reglue::c::options_of(options, &self.is_stopped);
    self.session.emplace(session_options, "environment", options ? options->max_slots : 0);
    return REGLUE_OK;
  });
}

void reglue_environment_close(reglue_environment* environment) {
  std::string message;
  guarded(message, [&] {
    delete environment;
    return REGLUE_OK;
  });
}

const char* reglue_environment_errmsg(const reglue_environment* environment) {
  return environment ? environment->message.c_str()
                     : "got no environment, wanted that of reglue_environment_connect";
}

int reglue_environment_next(reglue_environment* self, const reglue_environment_call** call) {
  return next(self, call, std::nullopt);
}

int reglue_environment_next_within(reglue_environment* self, double timeout_s,
                                   const reglue_environment_call** call) {
  return next(self, call, timeout_s);
}

void reglue_environment_stop(reglue_environment* environment) {
  if (environment) environment->is_stopped = true;
}

int reglue_environment_ready(reglue_environment* self, const reglue_spec* spec,
                             const reglue_task* tasks, std::size_t count, std::uint32_t offers) {
  const auto is_init = [](const reglue_environment& env) { return waits_for(env, Kind::Init); };
  return answered(self, spec && (tasks || count == 0), is_init,
                  "there is no init to answer: reglue_environment_next comes first",
                  [&](EnvironmentSession& session) {
                    const reglue::EnvironmentTraits traits = traits_of(tasks, count, offers);
                    session.ready(reglue::c::task_spec_of(*spec), traits);
                    self->spec.emplace(*self->open->spec);
                  });
}

int reglue_environment_fault_slot(reglue_environment* self, std::uint32_t slot, const char* what) {
  return carried_out(self, what, [&]() -> int {
    if (!waits_for(*self, Kind::Play)) {
      return misuse(*self, "there is no play to fail in: reglue_environment_next comes first");
    }
    if (!plays_in(*self->open, slot)) {
      throw reglue::UsageError("got slot " + std::to_string(slot) + ", wanted one of the play's");
    }
    (*self->session->outcome().faults)[slot] = what;
    return REGLUE_OK;
  });
}

int reglue_environment_played(reglue_environment* self) {
  const auto is_play = [](const reglue_environment& env) { return waits_for(env, Kind::Play); };
  return answered(self, true, is_play,
                  "there is no play to answer: reglue_environment_next comes first",
                  [](EnvironmentSession& session) { session.played(); });
}

int reglue_environment_snapshot(reglue_environment* self, const void* bytes, std::size_t count) {
  return answered(self, bytes || count == 0, wants_bytes,
                  "there is no state or random seed to get: reglue_environment_next comes first",
                  [&](EnvironmentSession& session) {
                    session.keep(count ? std::string(static_cast<const char*>(bytes), count) : "");
                  });
}

int reglue_environment_answer(reglue_environment* self, const char* text) {
  const auto is_message = [](const reglue_environment& env) {
    return waits_for(env, Kind::Message);
  };
  return answered(self, text, is_message,
                  "there is no message to answer: reglue_environment_next comes first",
                  [&](EnvironmentSession& session) { session.reply_message(text); });
}

int reglue_environment_refuse(reglue_environment* self, int code, const char* got,
                              const char* wanted) {
  const auto is_refusable = [](const reglue_environment& env) {
    return env.open && env.open->kind != Kind::Play;
  };
  return answered(
      self, got && wanted, is_refusable,
      "there is no call to refuse, or it is a play, whose slots "
      "reglue_environment_fault_slot fails",
      [&](EnvironmentSession& session) { session.refuse(refusal_of(code, got, wanted)); });
}

int reglue_environment_fault(reglue_environment* self, const char* what) {
  return carried_out(self, what, [&]() -> int {
    if (!self->session) return misuse(*self, "the session is over already");
    self->open = nullptr;
    self->session->fault(what);
    self->session.reset();
    self->message = what;
    return REGLUE_OK;
  });
}
