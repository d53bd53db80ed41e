"""How long an agent may take for what a phase plays, where the file does not say."""

from __future__ import annotations

import math

from reglue.errors import UsageError
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.online import EPISODE_LIMIT
from reglue_bench.procedures.procedure import Procedure
from reglue_competition.definition import PlayLimits

_SHARE = 0.1  # of `step_s`, that all turns may take on average


def run_s(plan: Plan, play: PlayLimits, *, horizon: int) -> float:
    """Seconds that an agent may take from one `agent_init` on: `play.run_s`, or by its episodes.

    That is a tenth of `step_s` for each turn of episodes that all last to their end; with the time
    for `agent_init`, the first turn and each adaptation, and the bank. `horizon` is the
    environments', in steps; 0: they have none. Raises UsageError where no end is known, as by the
    limit that online benchmarks have by default.
    """
    if play.run_s is not None:
        return play.run_s
    procedure, own = procedure_of(plan), plan.parameters
    limit = int(own.get("episode_limit") or 0)
    ends = (horizon, limit if limit < EPISODE_LIMIT else 0, int(own.get("steps") or 0))
    longest = min((n for n in ends if n), default=0)
    steps = _most_steps(plan, procedure, longest)
    if not steps:
        raise UsageError(
            "no end of its episodes is known: give options.episode_limit, or play.run_s"
        )
    turns = math.ceil(steps / plan.slots / procedure.agents) + longest
    adapted = int(own.get("adaptation_steps") or 0) + 1 if "adaptation_steps" in own else 0
    calls = 2 + 2 * adapted * procedure.units
    return math.ceil(calls * play.first_step_s + play.bank_s + turns * _SHARE * play.step_s)


def place_s(plan: Plan, run_s: float) -> float:
    """Seconds that the agent of one submission may take for a benchmark, in all."""
    return procedure_of(plan).agents * run_s


def _most_steps(plan: Plan, procedure: Procedure, longest: int) -> int:
    """Of all units; `longest`: of an episode."""
    if steps := int(plan.parameters.get("steps") or 0):
        return procedure.units * steps
    return longest * sum(len(procedure.cells(unit)) for unit in range(procedure.units))
