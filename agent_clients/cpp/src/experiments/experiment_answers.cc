#include "experiments/experiment_answers.h"

#include <algorithm>

#include "reglue/errors.h"
#include "text.h"
#include "wire/wire.h"

namespace reglue {
namespace {

std::string code_name(v1::RefusalCode code) {
  const std::string& name = v1::RefusalCode_Name(code);  // empty if a later version's
  const std::string prefix = "REFUSAL_CODE_";
  return name.empty() ? "UNSPECIFIED" : name.substr(prefix.size());
}

[[noreturn]] void throw_refused(const v1::Refusal& refusal) {
  const std::string got = glue_text(refusal.got()), wanted = glue_text(refusal.wanted());
  switch (refusal.code()) {
    case v1::REFUSAL_CODE_OUT_OF_ORDER: throw OutOfOrder(got, wanted);
    case v1::REFUSAL_CODE_UNKNOWN_KEY: throw UnknownKey(got, wanted);
    case v1::REFUSAL_CODE_NOT_SUPPORTED: throw NotSupported(got, wanted);
    case v1::REFUSAL_CODE_OUT_OF_DOMAIN: throw OutOfDomain(got, wanted);
    default: throw RoutineRefused(code_name(refusal.code()), got, wanted);
  }
}

/// The slots of an answer. Throws BadReply unless there are as many as were requested, if any were.
template <class Message>
Span<const std::uint32_t> slots_of(const Message& message, const Slots& requested) {
  const auto rows = static_cast<std::size_t>(message.slots_size());
  if (!requested.empty() && rows != requested.size()) {
    throw BadReply("WRONG_SIZE", std::to_string(rows) + " slots", std::to_string(requested.size()));
  }
  return {message.slots().data(), rows};
}

void check_flags(const std::string& flags, std::size_t rows) {
  if (flags.size() == rows) return;
  throw BadReply("WRONG_SIZE", std::to_string(flags.size()) + " flags", std::to_string(rows));
}

Span<const std::uint8_t> flags_of(const std::string& flags, std::size_t rows) {
  check_flags(flags, rows);
  return {reinterpret_cast<const std::uint8_t*>(flags.data()), flags.size()};
}

const TaskSpec& spec_of(const Reply& reply) {
  if (!reply.spec) throw BadReply("WRONG_KIND", "rows before RL_init", "RL_init first");
  return *reply.spec;
}

std::shared_ptr<const void> owner_of(Reply reply) {
  return std::make_shared<const Reply>(std::move(reply));
}

}  // namespace

void check_answer(const v1::ExperimentReply& reply, v1::ExperimentReply::ReplyCase wanted) {
  switch (reply.reply_case()) {
    case v1::ExperimentReply::kRefusal: throw_refused(reply.refusal());
    case v1::ExperimentReply::kAgentFault: throw AgentFault(glue_text(reply.agent_fault().what()));
    case v1::ExperimentReply::kEnvironmentFault:
      throw EnvironmentFault(glue_text(reply.environment_fault().what()));
    default: break;
  }
  if (reply.reply_case() == wanted) return;
  throw BadReply("WRONG_KIND", "an answer of kind " + std::to_string(reply.reply_case()),
                 "one of kind " + std::to_string(wanted));
}

Started started(Reply reply, const Slots& requested, bool acts) {
  const TaskSpec& spec = spec_of(reply);
  v1::Started& message = *reply.message->mutable_started();
  Started started;
  started.slots = slots_of(message, requested);
  const std::size_t rows = started.slots.size();
  started.observations = view(spec.observations, *message.mutable_observations(), rows);
  if (acts) started.actions = view(spec.actions, *message.mutable_actions(), rows);
  started.owner = owner_of(std::move(reply));
  return started;
}

Stepped stepped(Reply reply, const Slots& requested, bool acts) {
  const TaskSpec& spec = spec_of(reply);
  v1::Stepped& message = *reply.message->mutable_stepped();
  Stepped stepped;
  stepped.slots = slots_of(message, requested);
  const std::size_t rows = stepped.slots.size();
  stepped.rewards = view(rewards_spec(), *message.mutable_rewards(), rows).as<double>();
  stepped.observations = view(spec.observations, *message.mutable_observations(), rows);
  stepped.flags = flags_of(message.flags(), rows);
  if (acts) stepped.actions = view(spec.actions, *message.mutable_actions(), rows);
  stepped.owner = owner_of(std::move(reply));
  return stepped;
}

Acted acted(Reply reply, const Slots& requested) {
  const TaskSpec& spec = spec_of(reply);
  v1::Acted& message = *reply.message->mutable_acted();
  const std::size_t rows = slots_of(message, requested).size();
  Acted acted{view(spec.actions, *message.mutable_actions(), rows), nullptr};
  acted.owner = owner_of(std::move(reply));
  return acted;
}

bool all_ended(const v1::EpisodePlayed& played) {
  check_flags(played.flags(), static_cast<std::size_t>(played.slots_size()));
  return std::all_of(played.flags().begin(), played.flags().end(),
                     [](char flags) { return (flags & (Terminated | Truncated)) != 0; });
}

}  // namespace reglue
