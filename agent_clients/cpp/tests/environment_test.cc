// Answers to the calls of a glue, by an environment that can be made to fail.
#include "environments/environment_calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "text.h"

namespace reglue {
namespace {

/// Counts steps from 0. It fails at the action 9, and refuses messages that are no UTF-8.
class Counter : public Environment {
 public:
  EnvironmentTraits traits() const override {
    EnvironmentTraits traits;
    traits.max_slots = 4;
    traits.tells_success = tells_success;
    traits.whole_turns = whole_turns;
    traits.repeatable = repeatable;
    traits.tasks = tasks;
    return traits;
  }

  TaskSpec env_init(std::uint32_t slots) override {
    steps_.assign(slots, 0.0);
    TaskSpec spec;
    spec.observations = {{observation, Dtype::Float64, {}, Box{}}};
    spec.actions = {{"action", Dtype::UInt8, {}, Discrete{10, 0}}};
    return spec;
  }

  void env_start(const Cells& cells, Begun& begun) override {
    for (std::size_t row = 0; row < cells.size(); ++row) {
      steps_[cells.slots[row]] = 0.0;
      begun.observations[0].set(row, 0, static_cast<double>(cells.cells[row].seed));
    }
  }

  void env_step(const ChosenActions& actions, Span<const std::uint32_t> slots,
                Earned& earned) override {
    for (std::size_t row = 0; row < slots.size(); ++row) {
      const double action = actions["action"].number(row);
      earned.rewards[row] = action;
      earned.flags[row] = action == 8 ? Terminated | Success : 0;
      if (action == 9) throw std::runtime_error("nine is too much");
      if (action == 7) earned.faults[slots[row]] = "seven is too much";
      earned.observations[0].set(row, 0, ++steps_[slots[row]]);
    }
  }

  std::string env_message(const std::string& message) override { return message + "\xff"; }

  std::string observation = "steps";
  bool tells_success = true;
  bool whole_turns = false;
  bool repeatable = true;
  std::vector<Task> tasks{{"count", 1}};

 private:
  std::vector<double> steps_;
};

class EnvironmentTest : public ::testing::Test {
 protected:
  v1::EnvironmentReply ask(v1::EnvironmentCall call) {
    v1::EnvironmentReply reply;
    if (codec_.read(call, reply)) calls_.carry_out();
    codec_.close();
    return reply;
  }

  v1::EnvironmentReply init(std::uint32_t slots) {
    v1::EnvironmentCall call;
    call.mutable_init()->set_slots(slots);
    return ask(call);
  }

  /// Steps in slots 0, 1, … with these actions, and a start in slot 3.
  static v1::EnvironmentCall play_of(const std::string& actions) {
    v1::EnvironmentCall call;
    v1::Play& play = *call.mutable_play();
    for (std::uint32_t slot = 0; slot < actions.size(); ++slot) play.add_step_slots(slot);
    if (!actions.empty()) play.add_actions(actions);
    play.add_start_slots(3);
    v1::Cell& cell = *play.add_cells();
    cell.set_seed(41);
    cell.set_phase(v1::PHASE_TRAIN);
    return call;
  }

  static std::vector<double> numbers(const std::string& bytes) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  Counter counter_;
  static Options logging_to(std::string& text) {
    Options options;
    options.log = [&text](const std::string& line) { text += line; };
    return options;
  }

  std::string said_;
  Log log_{logging_to(said_)};
  EnvironmentCodec codec_{counter_.traits().max_slots};
  EnvironmentCalls calls_{counter_, codec_, log_};
};

TEST_F(EnvironmentTest, SaysWhetherItTellsOfSuccess) {
  EXPECT_FALSE(init(1).ready().tells_no_success());
  counter_.tells_success = false;
  EXPECT_TRUE(init(1).ready().tells_no_success());
}

TEST_F(EnvironmentTest, SaysThatAStepMovesEverySlotAndThatItIsNotRepeatable) {
  EXPECT_FALSE(init(1).ready().whole_turns());
  EXPECT_FALSE(init(1).ready().not_repeatable());
  counter_.whole_turns = true;
  counter_.repeatable = false;
  EXPECT_TRUE(init(1).ready().whole_turns());
  EXPECT_TRUE(init(1).ready().not_repeatable());
}

TEST_F(EnvironmentTest, StepsAndStartsInOnePlay) {
  init(4);
  const v1::Played played = ask(play_of({5, 8})).played();
  EXPECT_EQ(numbers(played.rewards()), (std::vector<double>{5, 8}));
  EXPECT_EQ(numbers(played.observations(0)), (std::vector<double>{1, 1, 41}));
  EXPECT_EQ(played.flags(), std::string({0, Terminated | Success, 0}));
  EXPECT_EQ(played.faults_size(), 0);
}

TEST_F(EnvironmentTest, WhatAStepThrowsIsTheFaultOfAllSlotsOfThePlay) {
  init(4);
  const v1::Played played = ask(play_of({8, 9})).played();
  ASSERT_EQ(played.faults_size(), 3);
  EXPECT_EQ(played.faults(2).slot(), 3u);
  EXPECT_EQ(played.faults(2).what(), "nine is too much");
  EXPECT_EQ(numbers(played.rewards()), (std::vector<double>{0, 0}));
  EXPECT_EQ(played.flags(), std::string(3, '\0'));
  EXPECT_EQ(said_, "the environment failed: nine is too much");
  EXPECT_EQ(ask(play_of({1})).played().faults_size(), 0);
}

TEST_F(EnvironmentTest, OneSlotsFaultLeavesTheOthersAlone) {
  init(4);
  const v1::Played played = ask(play_of({7, 2})).played();
  ASSERT_EQ(played.faults_size(), 1);
  EXPECT_EQ(played.faults(0).slot(), 0u);
  EXPECT_EQ(numbers(played.rewards())[1], 2);
}

TEST_F(EnvironmentTest, RefusesWhatItDoesNotHave) {
  init(4);
  v1::EnvironmentCall call;
  call.mutable_get_state();
  EXPECT_EQ(ask(call).refusal().code(), v1::REFUSAL_CODE_NOT_SUPPORTED);
  call.mutable_standardize_randomness();
  EXPECT_EQ(ask(call).refusal().got(), "env_standardize_randomness");
}

TEST_F(EnvironmentTest, RefusesMoreSlotsThanItPlays) {
  EXPECT_EQ(init(5).refusal().wanted(), "1 to 4");
  EXPECT_EQ(init(4).ready().spec().slots(), 4u);
}

TEST_F(EnvironmentTest, RefusesRoutinesBeforeInit) {
  v1::EnvironmentCall call;
  call.mutable_cleanup();
  EXPECT_EQ(ask(call).refusal().code(), v1::REFUSAL_CODE_OUT_OF_ORDER);
  EXPECT_EQ(ask(call).refusal().got(), "cleanup before env_init");
}

TEST_F(EnvironmentTest, ACallHasOneKindOfAnswerAndOneAnswer) {
  EXPECT_THROW(codec_.played(), UsageError);
  v1::EnvironmentCall call;
  v1::EnvironmentReply reply;
  call.mutable_init()->set_slots(1);
  ASSERT_TRUE(codec_.read(call, reply));
  EXPECT_THROW(codec_.done(), UsageError);
  EXPECT_THROW(codec_.keep("bytes"), UsageError);
  EXPECT_THROW(codec_.outcome(), UsageError);
  EXPECT_EQ(reply.reply_case(), v1::EnvironmentReply::REPLY_NOT_SET);
  codec_.ready(counter_.env_init(1), {});
  codec_.close();
  EXPECT_THROW(codec_.ready(counter_.env_init(1), {}), UsageError);
}

TEST_F(EnvironmentTest, ATaskSpecThatContradictsItselfIsTheEnvironmentsFault) {
  counter_.observation = "";
  EXPECT_THROW(init(1), SpecError);
}

TEST_F(EnvironmentTest, InvalidTasksAreTheEnvironmentsFault) {
  for (const std::vector<Task>& tasks :
       {std::vector<Task>{}, {{"none", 0}}, {{"a", 1}, {"a", 1}}, {{"\xff", 1}}}) {
    counter_.tasks = tasks;
    EXPECT_THROW(init(1), UsageError);
  }
}

TEST_F(EnvironmentTest, ANameThatIsNotUtf8IsTheEnvironmentsFault) {
  counter_.observation = "\xff";
  EXPECT_THROW(init(1), SpecError);
}

TEST_F(EnvironmentTest, AnAnswerThatIsNotUtf8IsTheEnvironmentsFault) {
  v1::EnvironmentCall call;
  call.mutable_message()->set_text("hello");
  EXPECT_THROW(ask(call), UsageError);
}

TEST_F(EnvironmentTest, APlayOfASlotTwiceIsRefused) {
  init(4);
  v1::EnvironmentCall call = play_of({1});
  call.mutable_play()->set_step_slots(0, 3);
  EXPECT_THROW(ask(call), BadReply);
}

TEST_F(EnvironmentTest, AStartWithoutACellIsRefused) {
  init(4);
  v1::EnvironmentCall call = play_of({1});
  call.mutable_play()->clear_cells();
  EXPECT_THROW(ask(call), BadReply);
}

}  // namespace
}  // namespace reglue
