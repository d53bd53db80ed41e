// The turn of proto/README.md, from its bytes to the routines and back.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>

#include "readme.h"
#include "reglue/agent.h"
#include "wire/wire.h"

namespace reglue {
namespace {

constexpr std::size_t kMost = 1 << 20;

class TurnBytes : public ::testing::Test {
 protected:
  TurnBytes() {
    v1::TaskSpec message;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(tests::block("textproto spec"), &message));
    spec = decode_spec(message);
    EXPECT_TRUE(call.ParseFromString(tests::bytes(tests::block("hex call"))));
  }

  Turn decode(std::size_t most = kMost) {
    return decode_turn(*call.mutable_turn(), spec, buffers, most);
  }
  v1::Turn& turn() { return *call.mutable_turn(); }

  TaskSpec spec;
  v1::AgentCall call;
  TurnBuffers buffers;
};

std::vector<std::uint32_t> numbers(Span<const std::uint32_t> span) {
  return {span.begin(), span.end()};
}

TEST_F(TurnBytes, AreReadAsTheProtocolSays) {
  const Turn turn = decode();
  EXPECT_EQ(turn.phase, Phase::Evaluate);
  EXPECT_EQ(numbers(turn.ends.slots), std::vector<std::uint32_t>{2});
  EXPECT_EQ(turn.ends.kinds[0], EndKind::Truncated);
  EXPECT_EQ(numbers(turn.steps.slots), (std::vector<std::uint32_t>{0, 3}));
  EXPECT_EQ(turn.steps.flags[1], Clipped);
  EXPECT_EQ(numbers(turn.starts.slots), std::vector<std::uint32_t>{2});
  EXPECT_EQ(turn.starts.seeds[0], 0x0123456789abcdefU);
  EXPECT_EQ(std::vector<double>(turn.rewards.begin(), turn.rewards.end()),
            (std::vector<double>{1.0, -0.25, 0.5}));
  EXPECT_EQ(turn.observations["position"].row<double>(1)[1], 3.0);
  EXPECT_EQ(turn.observations["door_open"].as<std::uint8_t>()[2], 1);
}

TEST_F(TurnBytes, AreAnsweredByTheProtocolsReply) {
  std::vector<std::uint32_t> abandoned;
  v1::AgentReply reply;
  reply.set_seq(call.seq());
  const Turn turn = decode();
  const Actions actions(zeros(spec.actions, *reply.mutable_actions()->mutable_actions(), 3),
                        abandoned);
  actions["force"].assign(std::vector<float>{0.5F, -1.0F, 1.0F, 0.0F, -0.25F, 0.75F});
  for (const auto& [row, grip] : {std::pair{0, -1.0}, {1, 1.0}}) {
    actions["grip"].set(static_cast<std::size_t>(row), 0, grip);
  }
  EXPECT_EQ(reply.SerializeAsString(), tests::bytes(tests::block("hex reply")));
}

/// Records the arguments of each routine, and answers with the routine's number.
class Notes : public Agent {
 public:
  void agent_start(const Observations& observations, const Starts& starts,
                   Actions& actions) override {
    note("start", starts.slots, observations);
    actions["force"].set(0, 0, 3.0);
    actions.abandon(starts.slots[0]);
  }
  void agent_step(Rewards rewards, const Observations& observations, const Steps& steps,
                  Actions& actions) override {
    note("step", steps.slots, observations);
    EXPECT_EQ(rewards[1], 0.5);
    for (std::size_t row = 0; row < steps.size(); ++row) actions["force"].set(row, 0, 2.0);
  }
  void agent_end(Rewards rewards, const Observations& observations, const Ends& ends) override {
    note("end", ends.slots, observations);
    EXPECT_EQ(rewards.size(), 1U);
  }

  std::string record;

 private:
  void note(const char* routine, Span<const std::uint32_t> slots,
            const Observations& observations) {
    record += std::string(routine) + " " + std::to_string(slots[0]) + " " +
              std::to_string(observations["position"].number(0, 0)) + "\n";
    EXPECT_EQ(observations.rows(), slots.size());
  }
};

TEST_F(TurnBytes, BecomeEndsThenStepsThenStartsWithTheirRows) {
  Entries entries;
  std::vector<std::uint32_t> abandoned;
  Actions actions(zeros(spec.actions, entries, 3), abandoned);
  Notes notes;
  notes.turn(decode(), actions);
  EXPECT_EQ(notes.record, "end 2 1.500000\nstep 0 0.250000\nstart 2 0.000000\n");
  EXPECT_EQ(actions["force"].number(1, 0), 2.0);
  EXPECT_EQ(actions["force"].number(2, 0), 3.0);
  EXPECT_EQ(abandoned, std::vector<std::uint32_t>{2});
}

TEST_F(TurnBytes, OfAnAgentWithoutRoutinesAreRefusedByName) {
  Entries entries;
  std::vector<std::uint32_t> abandoned;
  Actions actions(zeros(spec.actions, entries, 3), abandoned);
  Agent agent;
  EXPECT_THROW(agent.turn(decode(), actions), UsageError);
}

TEST_F(TurnBytes, WithUnknownFlagsAreReadWithoutThem) {
  turn().set_step_flags(0, 1 << 20 | Clipped);
  EXPECT_EQ(decode().steps.flags[0], Clipped);
}

TEST_F(TurnBytes, WithoutRewardsHoldNaNsWhereTheyAreWithheld) {
  spec.rewards_in_evaluation = false;
  EXPECT_THROW(decode(), BadReply);
  turn().clear_rewards();
  const Turn withheld = decode();
  ASSERT_EQ(withheld.rewards.size(), 3U);
  EXPECT_TRUE(std::isnan(withheld.rewards[0]));
  turn().set_phase(v1::PHASE_ADAPT);
  EXPECT_THROW(decode(), BadReply);
}

TEST_F(TurnBytes, OfNoPhaseOrEndKindAreRefused) {
  turn().set_phase(v1::PHASE_UNSPECIFIED);
  EXPECT_THROW(decode(), BadReply);
  turn().set_phase(static_cast<v1::Phase>(4));
  EXPECT_THROW(decode(), BadReply);
  turn().set_phase(v1::PHASE_TRAIN);
  turn().set_end_kinds(0, static_cast<v1::EndKind>(4));
  EXPECT_THROW(decode(), BadReply);
}

TEST_F(TurnBytes, OfSlotsThatThereAreNotAreRefused) {
  turn().set_step_slots(1, 4);
  EXPECT_THROW(decode(), BadReply);
}

TEST_F(TurnBytes, OfListsThatDifferInLengthAreRefused) {
  turn().add_start_slots(1);
  EXPECT_THROW(decode(), BadReply);
}

TEST_F(TurnBytes, WhoseAnswerNoMessageHoldsAreRefused) {
  EXPECT_NO_THROW(decode(30));
  EXPECT_THROW(decode(29), BadReply);
}

}  // namespace
}  // namespace reglue
