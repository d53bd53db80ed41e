// Passes the same bytes to every decoder of the client. Each returns, or throws a reglue::Error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "environments/environment_codec.h"
#include "experiments/experiment_answers.h"
#include "net/join/join_string.h"
#include "reglue/errors.h"
#include "reglue/v1/agent.pb.h"
#include "reglue/v1/environment.pb.h"
#include "reglue/v1/experiment.pb.h"
#include "reglue/v1/lobby.pb.h"
#include "wire/wire.h"

namespace reglue {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a message

/// As in tests/fuzz/targets.py, so that its corpus is taken here as well.
TaskSpec spec() {
  TaskSpec spec;
  spec.observations = {{"seen", Dtype::Float32, {2}, Box{}},
                       {"kind", Dtype::UInt8, {}, Discrete{3, 0}}};
  spec.actions = {{"done", Dtype::Int8, {2}, MultiDiscrete{{2, 3}}},
                  {"by", Dtype::Float64, {}, Box{}}};
  spec.slots = 3;
  return spec;
}

template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error&) {  // as promised
  }
}

template <class Message, class Read>
void parsed(const std::string& bytes, Read read) {
  auto message = std::make_shared<Message>();
  if (message->ParseFromString(bytes)) attempt([&] { read(*message); });
}

void read_answers(const std::string& bytes, const std::shared_ptr<const TaskSpec>& task) {
  for (const bool acts : {false, true}) {
    const auto reply = [&] {
      auto message = std::make_shared<v1::ExperimentReply>();
      static_cast<void>(message->ParseFromString(bytes));  // as far as it can be read
      return Reply{message, task};
    };
    const auto kind = reply().message->reply_case();
    const Slots requested{0, 1};
    if (kind == v1::ExperimentReply::kStarted) attempt([&] { started(reply(), requested, acts); });
    if (kind == v1::ExperimentReply::kStepped) attempt([&] { stepped(reply(), requested, acts); });
    if (kind == v1::ExperimentReply::kActed) attempt([&] { acted(reply(), requested); });
    attempt([&] { check_answer(*reply().message, v1::ExperimentReply::kDone); });
  }
}

/// By an environment that plays `task` and has every routine.
void read_call(v1::EnvironmentCall& message, const TaskSpec& task) {
  EnvironmentTraits traits;
  traits.restores = traits.seeds = traits.standardizes = true;
  EnvironmentCodec codec(0);
  v1::EnvironmentCall init;
  v1::EnvironmentReply reply;
  init.mutable_init()->set_slots(task.slots);
  codec.read(init, reply);
  codec.ready(task, traits);
  codec.read(message, reply);
}

void read_all(const std::string& bytes) {
  static const auto task = std::make_shared<const TaskSpec>(spec());
  attempt([&] { parse_join_string(bytes); });
  attempt([&] { split_address(bytes); });
  parsed<v1::TaskSpec>(bytes, [](const v1::TaskSpec& message) { decode_spec(message); });
  parsed<v1::AgentCall>(bytes, [](v1::AgentCall& message) {
    TurnBuffers buffers;
    if (message.has_init()) decode_spec(message.init().spec());
    if (message.has_turn()) decode_turn(*message.mutable_turn(), *task, buffers, kMostBytes);
  });
  parsed<v1::EnvironmentCall>(bytes,
                              [](v1::EnvironmentCall& message) { read_call(message, *task); });
  parsed<v1::ExperimentReply>(bytes, [&](const v1::ExperimentReply& message) {
    if (message.has_spec()) decode_spec(message.spec());
    read_answers(bytes, task);
  });
}

}  // namespace
}  // namespace reglue

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reglue::read_all(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
