#include <limits>

#include "experiments/experiment_answers.h"
#include "experiments/experiment_session.h"
#include "reglue/errors.h"
#include "reglue/experiment.h"
#include "text.h"
#include "wire/wire.h"

namespace reglue {
namespace {

using Call = v1::ExperimentCall;
using Kind = v1::ExperimentReply;
using Entries = google::protobuf::RepeatedPtrField<std::string>;

// Checks of a program's arguments, before any call is sent.

std::uint64_t checked_seed(std::uint64_t seed) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (seed <= most) return seed;
  throw OutOfDomain("seed " + std::to_string(seed), "0 to " + std::to_string(most));
}

const std::string& checked_text(const char* what, const std::string& text) {
  if (is_utf8(text)) return text;
  throw OutOfDomain(std::string(what) + " that is no UTF-8", "text in UTF-8");
}

template <class Message>
void write_slots(const Slots& slots, Message& message) {
  message.mutable_slots()->Add(slots.begin(), slots.end());
}

/// A start's slots and goal.
template <class Options, class Message>
void write_start(const Options& options, Message& message) {
  write_slots(options.slots, message);
  if (options.task.empty() && !options.variant) return;
  message.mutable_goal()->set_task(checked_text("a task's name", options.task));
  message.mutable_goal()->set_variant(options.variant.value_or(0));
}

void write_rows(const BasicTensors<const std::byte>& tensors, Entries& entries) {
  for (const auto& tensor : tensors) {
    const Span<const std::byte> bytes = tensor.bytes();
    entries.Add()->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

void write_rewards(Rewards rewards, std::string& entry) {
  entry.assign(reinterpret_cast<const char*>(rewards.data()), rewards.size() * sizeof(double));
}

}  // namespace

struct [[gnu::visibility("hidden")]] Experiment::State {
  explicit State(const Options& options) : session(options) {}

  /// Reads an answer. Throws SessionLost, and the session is over, if it is malformed.
  template <class Reading>
  auto read(Reading reading) {
    try {
      return reading();
    } catch (const BadReply& error) {
      session.lose(error.what());
    } catch (const SpecError& error) {
      session.lose(error.what());
    }
  }

  /// The routine's answer. Throws what the routine throws.
  Reply ask(Call& call, Kind::ReplyCase wanted) {
    Reply reply{session.ask(call), spec};
    read([&] { check_answer(*reply.message, wanted); });
    return reply;
  }

  v1::Counts counts(std::uint32_t slot) {
    Call call;
    call.mutable_counts()->set_slot(slot);
    return ask(call, Kind::kCounts).message->counts();
  }

  const std::vector<TensorSpec>& tensors(std::vector<TensorSpec> TaskSpec::* kind) const {
    static const std::vector<TensorSpec> none;  // before RL_init
    return spec ? (*spec).*kind : none;
  }

  ExperimentSession session;
  std::shared_ptr<const TaskSpec> spec;
};

Experiment::Experiment(const Options& options) : state_(std::make_unique<State>(options)) {}
Experiment::~Experiment() = default;
Experiment::Experiment(Experiment&&) noexcept = default;
Experiment& Experiment::operator=(Experiment&&) noexcept = default;

void Experiment::close() { state_->session.leave(); }

void Experiment::set_timeout(std::chrono::milliseconds timeout) {
  state_->session.set_timeout(timeout);
}

const TaskSpec& Experiment::rl_init(std::uint32_t slots, std::uint64_t seed,
                                    const std::string& task, std::uint32_t variant) {
  if (slots < 1) throw OutOfDomain("slots 0", "an integer from 1 to 4294967295");
  Call call;
  v1::RlInit& init = *call.mutable_init();
  init.set_slots(slots);
  init.set_seed(checked_seed(seed));
  init.set_task(checked_text("a task's name", task));
  init.set_variant(variant);
  const Reply reply = state_->ask(call, Kind::kSpec);
  state_->spec = state_->read(
      [&] { return std::make_shared<const TaskSpec>(decode_spec(reply.message->spec())); });
  return *state_->spec;
}

std::vector<Task> Experiment::rl_tasks() {
  Call call;
  call.mutable_tasks();
  const Reply reply = state_->ask(call, Kind::kTasks);
  std::vector<Task> tasks;
  for (const v1::EnvironmentTask& task : reply.message->tasks().tasks()) {
    tasks.push_back({task.name(), task.variants()});
  }
  return tasks;
}

Started Experiment::rl_start(const StartOptions& options) {
  Call call;
  write_start(options, *call.mutable_start());
  Reply reply = state_->ask(call, Kind::kStarted);
  return state_->read([&] { return started(std::move(reply), options.slots, true); });
}

Stepped Experiment::rl_step(const Slots& slots) {
  Call call;
  write_slots(slots, *call.mutable_step());
  Reply reply = state_->ask(call, Kind::kStepped);
  return state_->read([&] { return stepped(std::move(reply), slots, true); });
}

bool Experiment::rl_episode(const EpisodeOptions& options) {
  Call call;
  write_start(options, *call.mutable_episode());
  call.mutable_episode()->set_max_steps(options.max_steps);
  const Reply reply = state_->ask(call, Kind::kEpisode);
  return state_->read([&] { return all_ended(reply.message->episode()); });
}

void Experiment::rl_iterate_goal(const Slots& slots) {
  Call call;
  write_slots(slots, *call.mutable_iterate_goal());
  state_->ask(call, Kind::kDone);
}

double Experiment::rl_return(std::uint32_t slot) { return state_->counts(slot).sum_of_rewards(); }

std::uint64_t Experiment::rl_num_steps(std::uint32_t slot) { return state_->counts(slot).steps(); }

std::uint64_t Experiment::rl_num_episodes(std::uint32_t slot) {
  return state_->counts(slot).episodes();
}

bool Experiment::rl_success(std::uint32_t slot) { return state_->counts(slot).success(); }

void Experiment::rl_cleanup() {
  Call call;
  call.mutable_cleanup();
  state_->ask(call, Kind::kDone);
}

void Experiment::rl_freeze() {
  Call call;
  call.mutable_freeze();
  state_->ask(call, Kind::kDone);
}

void Experiment::rl_adapt_begin() {
  Call call;
  call.mutable_adapt_begin();
  state_->ask(call, Kind::kDone);
}

void Experiment::rl_adapt() {
  Call call;
  call.mutable_adapt();
  state_->ask(call, Kind::kDone);
}

void Experiment::rl_standardize_randomness(std::uint64_t seed) {
  Call call;
  call.mutable_standardize_randomness()->set_seed(checked_seed(seed));
  state_->ask(call, Kind::kDone);
}

std::string Experiment::rl_get_state(std::uint32_t slot) {
  Call call;
  call.mutable_get_state()->set_slot(slot);
  return state_->ask(call, Kind::kKey).message->key().key();
}

void Experiment::rl_set_state(const std::string& key, std::uint32_t slot) {
  Call call;
  call.mutable_set_state()->set_slot(slot);
  call.mutable_set_state()->set_key(checked_text("a key", key));
  state_->ask(call, Kind::kDone);
}

std::string Experiment::rl_get_random_seed(std::uint32_t slot) {
  Call call;
  call.mutable_get_random_seed()->set_slot(slot);
  return state_->ask(call, Kind::kKey).message->key().key();
}

void Experiment::rl_set_random_seed(const std::string& key, std::uint32_t slot) {
  Call call;
  call.mutable_set_random_seed()->set_slot(slot);
  call.mutable_set_random_seed()->set_key(checked_text("a key", key));
  state_->ask(call, Kind::kDone);
}

std::string Experiment::rl_agent_message(const std::string& text) {
  Call call;
  call.mutable_agent_message()->set_text(checked_text("a message", text));
  return state_->ask(call, Kind::kMessage).message->message().text();
}

std::string Experiment::rl_env_message(const std::string& text) {
  Call call;
  call.mutable_env_message()->set_text(checked_text("a message", text));
  return state_->ask(call, Kind::kMessage).message->message().text();
}

FilledRows Experiment::new_actions(std::size_t rows) const {
  return {state_->spec, state_->tensors(&TaskSpec::actions), rows};
}

FilledRows Experiment::new_observations(std::size_t rows) const {
  return {state_->spec, state_->tensors(&TaskSpec::observations), rows};
}

Started Experiment::rl_env_start(const StartOptions& options) {
  Call call;
  write_start(options, *call.mutable_env_start());
  Reply reply = state_->ask(call, Kind::kStarted);
  return state_->read([&] { return started(std::move(reply), options.slots, false); });
}

Stepped Experiment::rl_env_step(const ChosenActions& actions, const Slots& slots) {
  Call call;
  write_slots(slots, *call.mutable_env_step());
  write_rows(actions, *call.mutable_env_step()->mutable_actions());
  Reply reply = state_->ask(call, Kind::kStepped);
  return state_->read([&] { return stepped(std::move(reply), slots, false); });
}

Acted Experiment::rl_agent_start(const Observations& observations, const Slots& slots) {
  Call call;
  write_slots(slots, *call.mutable_agent_start());
  write_rows(observations, *call.mutable_agent_start()->mutable_observations());
  Reply reply = state_->ask(call, Kind::kActed);
  return state_->read([&] { return acted(std::move(reply), slots); });
}

Acted Experiment::rl_agent_step(Rewards rewards, const Observations& observations,
                                const Slots& slots) {
  Call call;
  v1::RlAgentStep& step = *call.mutable_agent_step();
  write_slots(slots, step);
  write_rewards(rewards, *step.mutable_rewards());
  write_rows(observations, *step.mutable_observations());
  Reply reply = state_->ask(call, Kind::kActed);
  return state_->read([&] { return acted(std::move(reply), slots); });
}

void Experiment::rl_agent_end(Rewards rewards, const Observations& observations, const Slots& slots,
                              bool truncated) {
  Call call;
  v1::RlAgentEnd& end = *call.mutable_agent_end();
  write_slots(slots, end);
  write_rewards(rewards, *end.mutable_rewards());
  write_rows(observations, *end.mutable_observations());
  end.set_truncated(truncated);
  state_->ask(call, Kind::kDone);
}

namespace {

constexpr std::size_t kAligned = 8;  // bytes: the largest element

std::size_t padded_bytes(const TensorSpec& tensor, std::size_t rows) {
  return (rows * tensor.row_bytes() + kAligned - 1) / kAligned * kAligned;
}

}  // namespace

FilledRows::FilledRows(std::shared_ptr<const TaskSpec> spec, const std::vector<TensorSpec>& tensors,
                       std::size_t rows)
    : spec_(std::move(spec)) {
  std::size_t bytes = 0;
  for (const TensorSpec& tensor : tensors) bytes += padded_bytes(tensor, rows);
  bytes_ = std::shared_ptr<std::byte[]>(new std::byte[bytes]());
  std::vector<BasicRows<std::byte>> written;
  std::vector<BasicRows<const std::byte>> view;
  std::byte* at = bytes_.get();
  for (const TensorSpec& tensor : tensors) {
    written.emplace_back(tensor, at, rows);
    view.emplace_back(tensor, at, rows);
    at += padded_bytes(tensor, rows);
  }
  written_ = {std::move(written), rows};
  view_ = {std::move(view), rows};
}

namespace {

/// Copies the only row of each tensor to row `row` of others.
void copy_row(const BasicTensors<const std::byte>& from, const FilledRows& to, std::size_t row) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    to.tensors()[i].part(row, 1).assign_bytes(from[i].bytes());
  }
}

}  // namespace

Trajectory Experiment::rl_episode_trajectory(std::uint64_t steps, std::uint32_t slot) {
  const Started first = rl_start(StartOptions{{slot}});
  std::vector<Stepped> later;
  std::vector<double> rewards;
  std::uint8_t flags = 0;
  while (flags == 0 && rewards.size() < steps) {
    Stepped stepped = rl_step({slot});
    rewards.push_back(stepped.rewards[0]);
    flags = stepped.flags[0] & (Terminated | Truncated);
    if (flags == 0) later.push_back(std::move(stepped));
  }
  const std::size_t rows = 1 + later.size();
  Trajectory trajectory{new_observations(rows), new_actions(rows), std::move(rewards), flags};
  copy_row(first.observations, trajectory.observations, 0);
  copy_row(first.actions, trajectory.actions, 0);
  for (std::size_t i = 0; i < later.size(); ++i) {
    copy_row(later[i].observations, trajectory.observations, i + 1);
    copy_row(later[i].actions, trajectory.actions, i + 1);
  }
  return trajectory;
}

}  // namespace reglue
