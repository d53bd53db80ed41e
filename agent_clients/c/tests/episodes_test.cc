// One turn, row by row: two that end, one that goes on, one that begins.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "reglue_episodes.h"

namespace {

class EpisodesTest : public testing::Test {
 protected:
  EpisodesTest() {
    seen_.row_bytes = 2 * sizeof(double);
    chosen_.row_bytes = sizeof(std::int64_t);
    spec_.observations = &seen_;
    spec_.observation_count = 1;
    spec_.actions = &chosen_;
    spec_.action_count = 1;
    call_.kind = REGLUE_TURN;
    call_.ends = 2;
    call_.steps = call_.starts = 1;
    call_.end_slots = end_slots_;
    call_.end_kinds = end_kinds_;
    call_.step_slots = &step_slot_;
    call_.start_slots = &start_slot_;
    call_.start_seeds = &seed_;
    call_.rewards = rewards_;
    call_.observations = observations_;
    call_.actions = actions_;
    call_.spec = &spec_;
  }

  const std::uint32_t end_slots_[2] = {4, 1}, step_slot_ = 0, start_slot_ = 4;
  const std::uint8_t end_kinds_[2] = {REGLUE_TERMINATED, REGLUE_TRUNCATED};
  const std::uint64_t seed_ = 99;
  const double rewards_[3] = {0.5, -1, 2};
  const double numbers_[8] = {10, 11, 20, 21, 30, 31, 40, 41};
  const void* const observations_[1] = {numbers_};
  std::int64_t action_[2] = {0, 0};
  void* const actions_[1] = {action_};
  reglue_tensor seen_{}, chosen_{};
  reglue_spec spec_{};
  reglue_call call_{};
};

TEST_F(EpisodesTest, EndsComeFirstThenStepsThenStarts) {
  std::vector<std::vector<double>> rows;  // kind, slot, reward, seed, kind of end, observation
  reglue_row row{};
  while (reglue_next_row(&call_, &row) != 0) {
    const auto* seen = static_cast<const double*>(reglue_row_seen(&call_, &row, 0));
    rows.push_back({double(row.kind), double(row.slot), row.reward, double(row.seed),
                    double(row.end_kind), seen[0], seen[1]});
  }
  const std::vector<std::vector<double>> wanted = {
      {REGLUE_ROW_END, 4, 0.5, 0, REGLUE_TERMINATED, 10, 11},
      {REGLUE_ROW_END, 1, -1, 0, REGLUE_TRUNCATED, 20, 21},
      {REGLUE_ROW_STEP, 0, 2, 0, 0, 30, 31},
      {REGLUE_ROW_START, 4, 0, 99, 0, 40, 41},
  };
  EXPECT_EQ(rows, wanted);
}

TEST_F(EpisodesTest, AnEndHasNoActionAndAllOthersHaveOneARow) {
  std::vector<void*> written;
  reglue_row row{};
  while (reglue_next_row(&call_, &row) != 0) written.push_back(reglue_row_action(&call_, &row, 0));
  EXPECT_EQ(written, (std::vector<void*>{nullptr, nullptr, &action_[0], &action_[1]}));
}

}  // namespace
