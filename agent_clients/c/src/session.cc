// An agent's session: reglue_connect, reglue_next, reglue_act and their like.
#include "reglue/session.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <optional>

#include "options.h"
#include "reglue.h"
#include "results.h"
#include "specs.h"

using reglue::AgentCall;
using reglue::AgentSession;
using reglue::c::guarded;
using reglue::c::milliseconds_of;
using reglue::c::SpecView;

struct reglue_session {
  std::atomic<bool> is_stopped = false;  // by reglue_stop, from any thread
  std::optional<AgentSession> agent;  // none if it could not be made, or is over
  std::string message;                // for reglue_errmsg
  std::optional<SpecView> spec;       // of the last init
  const AgentCall* open = nullptr;    // that waits for its answer
  reglue_call call{};                 // the C view of `open`
  std::string text;
  std::vector<const void*> observations;
  std::vector<void*> actions;
};

namespace {

static_assert(sizeof(reglue::EndKind) == 1, "reglue_call.end_kinds views the kinds as bytes");

/// Carries out `routine`. `has_arguments`: no required pointer is NULL.
template <class Routine>
int carried_out(reglue_session* session, bool has_arguments, Routine&& routine) {
  if (!session) return REGLUE_USAGE;
  return guarded(session->message, [&]() -> int {
    if (!has_arguments) throw reglue::UsageError(reglue::c::kGotNull);
    return routine();
  });
}

int misuse(reglue_session& session, const char* what) {
  session.message = what;
  return REGLUE_MISUSE;
}

reglue_budget budget_of(const reglue::Budget& budget) {
  reglue_budget limits{};
  const auto show = [&](std::uint64_t& left_us, const std::optional<std::uint64_t>& limit,
                        std::uint32_t bit) {
    left_us = limit.value_or(0);
    if (limit) limits.limited |= bit;
  };
  show(limits.step_us, budget.step_us, REGLUE_STEP_LIMITED);
  show(limits.bank_us, budget.bank_us, REGLUE_BANK_LIMITED);
  show(limits.adapt_us, budget.adapt_us, REGLUE_ADAPT_LIMITED);
  show(limits.run_us, budget.run_us, REGLUE_RUN_LIMITED);
  return limits;
}

void show_turn(reglue_session& session, const reglue::Turn& turn) {
  reglue_call& call = session.call;
  call.phase = static_cast<std::int32_t>(turn.phase);
  call.ends = static_cast<std::uint32_t>(turn.ends.size());
  call.steps = static_cast<std::uint32_t>(turn.steps.size());
  call.starts = static_cast<std::uint32_t>(turn.starts.size());
  call.end_slots = turn.ends.slots.data();
  call.end_kinds = reinterpret_cast<const std::uint8_t*>(turn.ends.kinds.data());
  call.step_slots = turn.steps.slots.data();
  call.step_flags = turn.steps.flags.data();
  call.start_slots = turn.starts.slots.data();
  call.start_seeds = turn.starts.seeds.data();
  call.rewards = turn.rewards.data();
  session.observations.clear();
  for (const auto& rows : turn.observations) session.observations.push_back(rows.bytes().data());
  session.actions.clear();
  for (const auto& rows : session.agent->actions()) session.actions.push_back(rows.bytes().data());
  call.observations = session.observations.data();
  call.actions = session.actions.data();
}

/// Makes `session.call` of the open call.
void show(reglue_session& session) {
  const AgentCall& open = *session.open;
  session.call = reglue_call{};
  session.call.kind = static_cast<std::int32_t>(open.kind) + REGLUE_INIT;
  if (open.kind == AgentCall::Kind::Init) session.spec.emplace(*open.spec);
  if (session.spec) session.call.spec = session.spec->get();
  session.call.text = "";
  if (open.kind == AgentCall::Kind::Message) {
    session.text = open.text;
    session.call.text = session.text.c_str();
  }
  session.call.budget = budget_of(open.budget);
  if (open.kind == AgentCall::Kind::Turn) show_turn(session, open.turn);
}

/// Answers the open call if it returns nothing; leaves a turn open.
void answer_by_nothing(reglue_session& session) {
  if (!session.open) return;
  if (session.open->kind == AgentCall::Kind::Message) {
    session.agent->reply_message("");
  } else {
    session.agent->done();
  }
  session.open = nullptr;
}

bool waits_for(const reglue_session& session, AgentCall::Kind kind) {
  return session.open && session.open->kind == kind;
}

/// Throws UsageError for a slot that has no row of actions.
void check_abandoned(const reglue::Turn& turn, std::uint32_t slot) {
  for (const auto& slots : {turn.steps.slots, turn.starts.slots}) {
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) return;
  }
  throw reglue::UsageError("got slot " + std::to_string(slot) +
                           " to abandon, wanted one that steps or starts in this turn");
}

/// Shows the next call; waits for it `timeout_s` seconds, or as long as it takes.
int next(reglue_session* session, const reglue_call** call, std::optional<double> timeout_s) {
  if (call) *call = nullptr;
  return carried_out(session, call, [&]() -> int {
    if (!session->agent)
      return misuse(*session, "the session is over; reglue_connect makes another");
    if (waits_for(*session, AgentCall::Kind::Turn)) {
      return misuse(*session, "the turn waits for its actions: reglue_act comes first");
    }
    std::optional<std::chrono::milliseconds> limit;  // before anything is answered
    if (timeout_s) limit = milliseconds_of("timeout", *timeout_s);
    answer_by_nothing(*session);
    if (limit && !session->agent->wait(*limit)) return REGLUE_WAITING;
    session->open = session->agent->next();
    if (!session->open) {
      session->message = session->agent->farewell();
      session->agent.reset();
      return REGLUE_DONE;
    }
    show(*session);
    *call = &session->call;
    return REGLUE_CALL;
  });
}

static_assert(static_cast<int>(AgentCall::Kind::Cleanup) + REGLUE_INIT == REGLUE_CLEANUP,
              "enum reglue_kind is AgentCall::Kind, counted from 1");

}  // namespace

int reglue_connect(const reglue_options* options, reglue_session** session) {
  if (!session) return REGLUE_USAGE;
  *session = new (std::nothrow) reglue_session;
  if (!*session) return REGLUE_NO_MEMORY;
  reglue_session& self = **session;
  return guarded(self.message, [&] {
    reglue::Options session_options = reglue::c::options_of(options, &self.is_stopped);
    self.agent.emplace(std::move(session_options), reglue::c::traits_of(options));
    return REGLUE_OK;
  });
}

void reglue_close(reglue_session* session) {
  std::string message;
  guarded(message, [&] {
    delete session;
    return REGLUE_OK;
  });
}

const char* reglue_errmsg(const reglue_session* session) {
  return session ? session->message.c_str() : "got no session, wanted that of reglue_connect";
}

int reglue_next(reglue_session* session, const reglue_call** call) {
  return next(session, call, std::nullopt);
}

int reglue_next_within(reglue_session* session, double timeout_s, const reglue_call** call) {
  return next(session, call, timeout_s);
}

void reglue_stop(reglue_session* session) {
  if (session) session->is_stopped = true;
}

int reglue_act(reglue_session* session, const std::uint32_t* abandoned, std::size_t count) {
  return carried_out(session, abandoned || count == 0, [&]() -> int {
    if (!waits_for(*session, AgentCall::Kind::Turn)) {
      return misuse(*session, "there is no turn to act in: reglue_next comes first");
    }
    const reglue::Turn& turn = session->open->turn;
    for (std::size_t i = 0; i < count; ++i) check_abandoned(turn, abandoned[i]);
    for (std::size_t i = 0; i < count; ++i) session->agent->actions().abandon(abandoned[i]);
    session->agent->act();
    session->open = nullptr;
    return REGLUE_OK;
  });
}

int reglue_answer(reglue_session* session, const char* text) {
  return carried_out(session, text, [&]() -> int {
    if (!waits_for(*session, AgentCall::Kind::Message)) {
      return misuse(*session, "there is no message to answer: reglue_next comes first");
    }
    session->agent->reply_message(text);
    session->open = nullptr;
    return REGLUE_OK;
  });
}

int reglue_fault(reglue_session* session, const char* what) {
  return carried_out(session, what, [&]() -> int {
    if (!session->agent) return misuse(*session, "the session is over already");
    session->open = nullptr;
    session->agent->fault(what);
    session->agent.reset();
    session->message = what;
    return REGLUE_OK;
  });
}
