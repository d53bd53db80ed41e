/// \file
/// Calls an agent's or an environment's routines as a session does, without a glue: for unit tests.
///
///     MyAgent agent;
///     reglue::testing::agent_init(agent, spec);  // agent.spec() is there from now on
///     reglue::FilledRows seen = reglue::testing::observations(spec, 1);
///     seen["position"].set(0, 0, 0.5);
///     const std::vector<std::uint32_t> slots{0};
///     const std::vector<std::uint64_t> seeds{42};
///     reglue::Turn turn;
///     turn.starts = {slots, seeds};
///     turn.observations = seen;
///     const reglue::testing::Answer answer = reglue::testing::agent_turn(agent, turn);
///     EXPECT_EQ(answer.actions["force"].number(0), 1.0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reglue/agent.h"
#include "reglue/environment.h"
#include "reglue/experiment.h"
#include "reglue/export.h"

namespace reglue::testing {

/// Rows of zeros to fill in, one for each of a turn's ends, steps and starts.
REGLUE_API FilledRows observations(const TaskSpec& spec, std::size_t rows);

/// Sets what spec() returns and forgets what get_goal() has seen, then calls agent_init(). Throws
/// SpecError for a contradictory spec, and what the agent throws.
REGLUE_API void agent_init(Agent& agent, const TaskSpec& spec, const Budget& budget = {});

/// What an agent has answered to a turn.
struct Answer {
  FilledRows actions;  ///< rows as the turn's steps, then its starts
  std::vector<std::uint32_t> abandoned;  ///< slots
};

/// Sets what phase(), budget() and get_goal() return, then calls turn(). Needs agent_init() first.
/// Throws UsageError without it, and what the agent throws.
REGLUE_API Answer agent_turn(Agent& agent, const Turn& turn, const Budget& budget = {});

/// Calls env_init() and sets what spec() returns, which is the result. Throws SpecError for a
/// contradictory spec, and what the environment throws.
REGLUE_API const TaskSpec& env_init(Environment& environment, std::uint32_t slots = 1);

}  // namespace reglue::testing
