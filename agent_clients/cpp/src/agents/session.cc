#include "reglue/session.h"

#include <algorithm>
#include <cstdlib>

#include "net/answering_session.h"
#include "reglue/v1/agent.pb.h"
#include "wire/wire.h"

namespace reglue {

struct AgentWire {
  using Call = v1::AgentCall;
  using Reply = v1::AgentReply;
  static constexpr v1::Role role = v1::ROLE_AGENT;
  static constexpr const char* method = "/reglue.v1.AgentService/Session";

  /// Turn follows turn: its strings and lists keep their memory.
  static void reuse(Call& call) {
    if (!call.has_turn()) return call.Clear();
    call.clear_seq();
    if (call.has_budget()) call.mutable_budget()->Clear();
    call.GetReflection()->MutableUnknownFields(&call)->Clear();
    call.mutable_turn()->Clear();
  }
};

namespace {

constexpr char kPoison = '\xff';  // NaN, -1, the largest unsigned integer

Budget decode_budget(const v1::AgentCall& call) {
  Budget budget;
  if (!call.has_budget()) return budget;
  const v1::Budget& limits = call.budget();
  if (limits.has_step_us()) budget.step_us = limits.step_us();
  if (limits.has_bank_us()) budget.bank_us = limits.bank_us();
  if (limits.has_adapt_us()) budget.adapt_us = limits.adapt_us();
  if (limits.has_run_us()) budget.run_us = limits.run_us();
  return budget;
}

std::function<void(v1::AgentReply&, const v1::Ticket&, std::uint64_t)> hello_of(
    const Options& options, const AgentTraits& traits, const std::string& name) {
  return [traits, name, sdk = sdk_of(options)](v1::AgentReply& reply, const v1::Ticket& ticket,
                                               std::uint64_t answered) {
    v1::AgentHello& hello = *reply.mutable_hello();
    greet(hello, sdk, ticket, answered);
    hello.set_agent(clean(name, kMostNameCharacters));
    hello.set_max_slots(traits.max_slots);
    hello.set_partial_turns(traits.partial_turns);
    hello.set_adapts(traits.adapts);
    hello.set_episodic(traits.episodic);
  };
}

}  // namespace

struct [[gnu::visibility("hidden")]] AgentSession::State {
  State(const Options& options, const AgentTraits& traits, const std::string& name)
      : session(options, name, hello_of(options, traits, name)) {}

  /// What the call is. Throws BadReply and SpecError.
  void decode(v1::AgentCall& message);
  void decode_turn_call(v1::AgentCall& message);
  const TaskSpec* spec_of(const char* what) const;
  /// Overwrites what the answered turn showed, in memory that the next turn does not use: an agent
  /// that reads it later acts otherwise, which `reglue try` sees.
  void poison();
  /// The message of another answer than Actions. Throws UsageError unless it answers the call.
  v1::AgentReply& reply(bool is_right, const char* got);
  void check_answered() const;
  void answer() {
    session.answer();
    is_open = false;
  }

  AnsweringSession<AgentWire> session;
  TaskSpec spec;
  bool has_spec = false;
  AgentCall call;
  bool is_open = false;  // the call is to be answered
  TurnBuffers buffers;
  v1::AgentCall* message = nullptr;  // of `call`
  v1::AgentCall poisoned;            // of the turn before
  const bool poisons = std::getenv("REGLUE_POISON") != nullptr;
  std::vector<std::uint32_t> abandoned;
  Actions actions;
};

AgentSession::AgentSession(Options options, AgentTraits traits) {
  const std::string& name = options.name.empty() ? traits.name : options.name;
  state_ = std::make_unique<State>(options, traits, name.empty() ? "agent" : name);
}
AgentSession::~AgentSession() = default;
AgentSession::AgentSession(AgentSession&&) noexcept = default;
AgentSession& AgentSession::operator=(AgentSession&&) noexcept = default;

void AgentSession::State::check_answered() const {
  if (!is_open) return;
  throw UsageError("the last call was not answered yet; act(), done() or reply_message() does");
}

bool AgentSession::wait(std::chrono::milliseconds limit) {
  state_->check_answered();
  return state_->session.wait(Clock::now() + limited(limit));
}

void AgentSession::stop() noexcept { state_->session.stop(); }

const AgentCall* AgentSession::next() {
  state_->check_answered();
  state_->message = state_->session.next();
  if (!state_->message) return nullptr;
  try {
    state_->decode(*state_->message);
  } catch (const BadReply& error) {
    state_->session.lose(error.what());
  } catch (const SpecError& error) {
    state_->session.lose(error.what());
  }
  state_->is_open = true;
  return &state_->call;
}

Actions& AgentSession::actions() {
  if (!state_->is_open || state_->call.kind != AgentCall::Kind::Turn) {
    throw UsageError("actions: only a Turn is answered by them");
  }
  return state_->actions;
}

void AgentSession::act() {
  actions();  // throws if there is no turn
  auto& abandoned = *state_->session.reply().mutable_actions()->mutable_abandoned_slots();
  abandoned.Clear();
  abandoned.Add(state_->abandoned.begin(), state_->abandoned.end());
  state_->answer();
  if (state_->poisons) state_->poison();
}

void AgentSession::done() {
  const AgentCall::Kind kind = state_->call.kind;
  const bool is_right = kind != AgentCall::Kind::Turn && kind != AgentCall::Kind::Message;
  state_->reply(is_right, "done").mutable_done();
  state_->answer();
}

void AgentSession::reply_message(std::string_view text) {
  v1::AgentReply& reply = state_->reply(state_->call.kind == AgentCall::Kind::Message, "a message");
  if (!is_utf8(text))
    throw UsageError("got an answer to a message that is not UTF-8, wanted UTF-8");
  reply.mutable_message()->set_text(text.data(), text.size());
  state_->answer();
}

void AgentSession::fault(std::string_view what) {
  state_->session.fault(state_->is_open ? state_->call.seq : 0, what);
  state_->is_open = false;
}

void AgentSession::close() {
  state_->session.close("the agent has left");
  state_->is_open = false;
}

const std::string& AgentSession::farewell() const { return state_->session.farewell(); }

v1::AgentReply& AgentSession::State::reply(bool is_right, const char* got) {
  if (!is_open || !is_right) {
    throw UsageError(std::string("got ") + got +
                     (is_open ? ", wanted the call's own answer" : ", wanted next() first"));
  }
  return session.reply();
}

void AgentSession::State::decode(v1::AgentCall& message) {
  using Kind = AgentCall::Kind;
  call.seq = message.seq();
  call.budget = decode_budget(message);
  switch (message.call_case()) {
    case v1::AgentCall::kTurn: return decode_turn_call(message);
    case v1::AgentCall::kInit:
      spec = decode_spec(message.init().spec());
      has_spec = true;
      call.spec = &spec;
      call.kind = Kind::Init;
      return;
    case v1::AgentCall::kMessage:
      call.kind = Kind::Message;
      call.text = message.message().text();
      return;
    case v1::AgentCall::kFreeze: call.kind = Kind::Freeze; break;
    case v1::AgentCall::kAdaptBegin: call.kind = Kind::AdaptBegin; break;
    case v1::AgentCall::kAdapt: call.kind = Kind::Adapt; break;
    case v1::AgentCall::kCleanup: call.kind = Kind::Cleanup; break;
    default: throw BadReply("WRONG_KIND", "an unknown call", "one of protocol 1.0");
  }
  spec_of("a routine");
}

void AgentSession::State::decode_turn_call(v1::AgentCall& message) {
  const TaskSpec& task = *spec_of("a turn");
  call.kind = AgentCall::Kind::Turn;
  call.turn = decode_turn(*message.mutable_turn(), task, buffers, session.max_message_bytes());
  abandoned.clear();
  auto& entries = *session.reply().mutable_actions()->mutable_actions();
  const std::size_t rows = call.turn.steps.size() + call.turn.starts.size();
  actions = Actions(zeros(task.actions, entries, rows), abandoned);
}

void AgentSession::State::poison() {
  for (std::string& entry : *message->mutable_turn()->mutable_observations()) {
    std::fill(entry.begin(), entry.end(), kPoison);
  }
  message->Swap(&poisoned);
}

const TaskSpec* AgentSession::State::spec_of(const char* what) const {
  if (!has_spec) throw BadReply("WRONG_KIND", std::string(what) + " before init", "init");
  return &spec;
}

}  // namespace reglue
