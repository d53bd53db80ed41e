// What routines make of the replies of a glue; and the rows of half steps.
#include "reglue/experiment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiments/experiment_answers.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

std::shared_ptr<const TaskSpec> task() {
  TaskSpec spec;
  spec.observations = {{"seen", Dtype::Float64, {2}, Box{}},
                       {"flag", Dtype::Bool, {}, MultiBinary{}}};
  spec.actions = {{"action", Dtype::Int16, {}, Discrete{3, -1}}};
  return std::make_shared<const TaskSpec>(spec);
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// Of a step in slots 2 and 0, the second of which ended.
Reply reply() {
  auto message = std::make_shared<v1::ExperimentReply>();
  v1::Stepped& stepped = *message->mutable_stepped();
  stepped.add_slots(2);
  stepped.add_slots(0);
  stepped.set_rewards(bytes_of<double>({-0.25, 1.0}));
  stepped.add_observations(bytes_of<double>({0.25, 3.0, 1.5, -2.0}));
  stepped.add_observations(std::string{1, 0});
  stepped.set_flags(std::string{0, Terminated | Success});
  stepped.add_actions(bytes_of<std::int16_t>({-1, 0}));
  return {message, task()};
}

TEST(Answers, KeepWhatTheyView) {
  std::optional<Stepped> first = stepped(reply(), {2, 0}, true);
  const Stepped copy = *first;
  first.reset();
  EXPECT_EQ(copy.slots[0], 2u);
  EXPECT_EQ(copy.rewards[1], 1.0);
  EXPECT_EQ(copy.observations["seen"].row<double>(1)[1], -2.0);
  EXPECT_EQ(copy.flags[1], Terminated | Success);
  EXPECT_EQ(copy.actions[0].row<std::int16_t>(0)[0], -1);
}

TEST(Answers, OfAHalfStepHaveNoActions) {
  EXPECT_EQ(stepped(reply(), {2, 0}, false).actions.size(), 0u);
}

TEST(Answers, HaveARowForEachSlotOfTheCall) {
  EXPECT_NO_THROW(stepped(reply(), {}, true));
  EXPECT_THROW(stepped(reply(), {2}, true), BadReply);
}

TEST(Answers, WithAByteTooFewAreRefused) {
  const auto is_refused = [](auto shorten) {
    const Reply bad = reply();
    shorten(*bad.message->mutable_stepped());
    EXPECT_THROW(stepped(bad, {2, 0}, true), BadReply);
  };
  is_refused([](v1::Stepped& stepped) { stepped.mutable_rewards()->pop_back(); });
  is_refused([](v1::Stepped& stepped) { stepped.mutable_flags()->pop_back(); });
  is_refused([](v1::Stepped& stepped) { stepped.mutable_observations(0)->pop_back(); });
  is_refused([](v1::Stepped& stepped) { stepped.mutable_actions(0)->pop_back(); });
  is_refused([](v1::Stepped& stepped) { stepped.clear_actions(); });
}

TEST(Answers, RefusalsAreOfTheirKind) {
  v1::ExperimentReply reply;
  v1::Refusal& refusal = *reply.mutable_refusal();
  refusal.set_got("step");
  refusal.set_wanted("RL_start first");
  const auto check = [&](v1::RefusalCode code) {
    refusal.set_code(code);
    check_answer(reply, v1::ExperimentReply::kDone);
  };
  EXPECT_THROW(check(v1::REFUSAL_CODE_OUT_OF_ORDER), OutOfOrder);
  EXPECT_THROW(check(v1::REFUSAL_CODE_UNKNOWN_KEY), UnknownKey);
  EXPECT_THROW(check(v1::REFUSAL_CODE_NOT_SUPPORTED), NotSupported);
  EXPECT_THROW(check(v1::REFUSAL_CODE_OUT_OF_DOMAIN), OutOfDomain);
  try {
    check(static_cast<v1::RefusalCode>(77));
    FAIL() << "it was taken";
  } catch (const RoutineRefused& refused) {
    EXPECT_EQ(refused.code, "UNSPECIFIED");
    EXPECT_STREQ(refused.what(), "got step, wanted RL_start first");
  }
}

TEST(Answers, FaultsSayWhoseTheyAre) {
  v1::ExperimentReply reply;
  reply.mutable_agent_fault()->set_what("it fell");
  EXPECT_THROW(check_answer(reply, v1::ExperimentReply::kDone), AgentFault);
  reply.mutable_environment_fault()->set_what("it fell");
  EXPECT_THROW(check_answer(reply, v1::ExperimentReply::kDone), EnvironmentFault);
}

TEST(Answers, ToAnotherRoutineAreRefused) {
  v1::ExperimentReply reply;
  reply.mutable_done();
  EXPECT_NO_THROW(check_answer(reply, v1::ExperimentReply::kDone));
  EXPECT_THROW(check_answer(reply, v1::ExperimentReply::kKey), BadReply);
}

TEST(FilledRows, AreZerosUntilTheyAreWritten) {
  const auto spec = task();
  const FilledRows rows(spec, spec->observations, 3);
  rows["flag"].set(2, 0, 1.0);
  const BasicTensors<const std::byte>& view = rows;
  EXPECT_EQ(view.rows(), 3u);
  EXPECT_EQ(view["seen"].number(2, 1), 0.0);
  EXPECT_EQ(view["flag"].number(2), 1.0);
  EXPECT_EQ(view["flag"].number(1), 0.0);
}

}  // namespace
}  // namespace reglue
