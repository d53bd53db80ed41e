"""`evaluation` and `metalearning_evaluation` of `metaworld.evaluation` 3.1.1, played fast.

They take upstream's arguments and return upstream's numbers. The vector environment is only read:
workers play what it would play, with the agent object in this process, and leave it as if it had
been stepped.

For an agent that answers each row by itself the numbers are upstream's to the last bit, but
for one thing: sub-environments that have their quota are not played on, as upstream does,
although one could still have ended in the very step in which another's episode counts. If
it comes first and its return is a np.float32, gymnasium rounds the other's to that, too.
With `surplus=True` they are played on: then every call of the agent is upstream's, all
numbers are, and so are the generators that draw the next goals; that takes as many steps
as upstream does. By default a generator has drawn for the episodes that were played.

A vector environment that does what cannot be read of it (wrappers of your own, normalized
rewards, another version of metaworld) is played by `metaworld.evaluation` itself, at its
speed, and a SlowEvaluation warning says why. `workers` and `surplus` change nothing then.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from env_adapters.metaworld.library import metaworld
from glue_server import EpisodeRunner, LocalPort, Order, Outcome, Timeouts
from reglue.agents.adaptation import agent_of
from reglue.agents.agent import Agent
from reglue.errors import AgentFault, EnvironmentFault, NotAnAgent, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.tools.loading import agent_name
from reglue_bench.metaworld.adapter import MetaWorldAdapter
from reglue_bench.metaworld.cached_workers import playing
from reglue_bench.metaworld.drop_in_scores import Evaluation, averaged, scored
from reglue_bench.metaworld.vector_envs import Unreadable, VectorEnvironment, leave, read
from reglue_bench.results.upstream import FirstFinished

ABANDONED = "agent_abandoned"  # by the adapter: it could not count any more


class SlowEvaluation(UserWarning):
    """An evaluation is played by metaworld.evaluation itself."""


def evaluation(
    agent: object,
    eval_envs: Any,
    num_episodes: int = 50,
    *,
    workers: int | None = None,
    surplus: bool = False,
) -> Evaluation:
    """Mean success rate, mean return, and by task: success rate, returns in order of finishing.

    `agent` has upstream's `eval_action` and `reset`; `eval_envs` is a SyncVectorEnv or
    AsyncVectorEnv of `gym.make_vec`. The first `num_episodes` of a task's name to finish
    count. `workers` processes play, one a core by default; they live as long as `eval_envs`.
    For `surplus` see the module.

    Raises UsageError for a vector environment that neither we nor upstream can play,
    NotAnAgent, the agent's own errors, and EnvironmentFault.
    """
    adapter = _adapted(agent)
    _check_counts(1, num_episodes=num_episodes)
    _check_counts(0, workers=workers or 0)
    try:
        plan = read(eval_envs)
    except Unreadable as why:
        _warn(why)
        played: Evaluation = metaworld("evaluation").evaluation(agent, eval_envs, num_episodes)
        return played
    with _glue(adapter, eval_envs, plan, workers) as glue:
        result = _evaluate(glue, adapter, plan, num_episodes, surplus=surplus)
    leave(eval_envs, plan.selections)
    eval_envs.call("toggle_terminate_on_success", plan.terminates)
    return result


def metalearning_evaluation(  # noqa: PLR0913 - upstream's arguments
    agent: object,
    eval_envs: Any,
    num_evals: int = 10,
    adaptation_steps: int = 1,
    adaptation_episodes: int = 10,
    evaluation_episodes: int = 3,
    *,
    workers: int | None = None,
    surplus: bool = False,
) -> tuple[float, float, dict[str, float]]:
    """Mean success rate, mean return and success rate by task, after adaptation.

    `agent` has upstream's `init`, `adapt_action`, `step` and `adapt`, too. All else is as
    in `evaluation`.
    """
    adapter = _adapted(agent)
    if not adapter.adapts:
        raise NotAnAgent(f"{agent_name(agent)} lacks init(), adapt_action(), step() or adapt()")
    _check_counts(1, num_evals=num_evals, evaluation_episodes=evaluation_episodes)
    _check_counts(0, adaptation_steps=adaptation_steps, adaptation_episodes=adaptation_episodes)
    _check_counts(0, workers=workers or 0)
    try:
        plan = read(eval_envs)
    except Unreadable as why:
        _warn(why)
        counts = (num_evals, adaptation_steps, adaptation_episodes, evaluation_episodes)
        played: tuple[float, float, dict[str, float]] = metaworld(
            "evaluation"
        ).metalearning_evaluation(agent, eval_envs, *counts)
        return played
    for selection in plan.selections:
        selection.on_reset = False
    rows = []
    with _glue(adapter, eval_envs, plan, workers) as glue:
        for _ in range(num_evals):
            for selection in plan.selections:
                selection.sample()
            glue.adapt_begin()
            for _ in range(adaptation_steps):
                _adapt(glue, plan, adaptation_episodes)
                glue.adapt()
            rows.append(_evaluate(glue, adapter, plan, evaluation_episodes, surplus=surplus))
    eval_envs.call("toggle_sample_tasks_on_reset", False)
    leave(eval_envs, plan.selections)
    eval_envs.call("toggle_terminate_on_success", False)
    return averaged(plan.names, rows)


def _warn(why: Unreadable) -> None:
    message = f"metaworld.evaluation itself plays this, which takes longer: {why}"
    warnings.warn(message, SlowEvaluation, stacklevel=3)


def _evaluate(
    glue: EpisodeRunner,
    adapter: MetaWorldAdapter,
    plan: VectorEnvironment,
    quota: int,
    *,
    surplus: bool,
) -> Evaluation:
    """Do what one call of upstream's `evaluation` does."""
    finished = FirstFinished(plan.names, quota)

    def may_count(slot: int, steps: int = 0) -> bool:
        return not finished.is_over if surplus else finished.may_count(slot, steps)

    successes: list[list[bool]] = [[] for _ in plan.names]
    variants = [selection.reset() for selection in plan.selections]

    def next_order(slot: int) -> Order | None:
        return _order(slot, variants[slot], Phase.EVALUATE) if may_count(slot) else None

    adapter.may_count = may_count
    glue.freeze()
    for outcome in _whole(glue.play(next_order, Phase.EVALUATE)):
        slot = outcome.order.k
        if outcome.status == ABANDONED:
            finished.give_up(slot, outcome.steps)
            continue
        finished.finish(slot, outcome.steps)
        successes[slot].append(outcome.success)
        variants[slot] = plan.selections[slot].reset()
    return scored(plan.names, finished, successes, adapter.returns)


def _adapt(glue: EpisodeRunner, plan: VectorEnvironment, episodes: int) -> None:
    """Episodes of full length in every sub-environment."""
    variants = [selection.reset() for selection in plan.selections]
    left = [episodes] * len(variants)

    def next_order(slot: int) -> Order | None:
        left[slot] -= 1
        return _order(slot, variants[slot], Phase.ADAPT) if left[slot] >= 0 else None

    for _ in _whole(glue.play(next_order, Phase.ADAPT)):
        pass


def _whole(outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """The rows that were played, or given up by the adapter; raises for any other."""
    for outcome in outcomes:
        if outcome.status in ("ok", ABANDONED):
            yield outcome
            continue
        for _ in outcomes:  # if the agent is lost, this raises its fault at the end
            pass
        fault = EnvironmentFault if outcome.status == EnvironmentFault.status else AgentFault
        raise fault(outcome.detail)


def _order(slot: int, variant: int, phase: Phase) -> Order:
    return Order(0, slot, Cell(str(slot), variant, 0, 0, phase), start_seed=0)


@contextmanager
def _glue(
    adapter: MetaWorldAdapter, eval_envs: Any, plan: VectorEnvironment, workers: int | None
) -> Iterator[EpisodeRunner]:
    """Play the agent against the workers; errors of the agent propagate unchanged."""
    with playing(eval_envs, plan.suite, len(plan.names), workers) as environment:
        try:
            glue = EpisodeRunner(LocalPort(adapter, "agent"), environment, timeouts=Timeouts())
            glue.init()
            yield glue
        except AgentFault as fault:
            raise fault.__cause__ or fault from None


def _adapted(agent: object) -> MetaWorldAdapter:
    if isinstance(agent, Agent):
        raise UsageError(
            got=f"{agent_name(agent)}, a reglue.Agent",
            wanted=(
                "one with Meta-World's eval_action() and reset(); reglue_bench.evaluate plays it"
            ),
        )
    agent_of(agent)  # refuses what lacks a method
    return MetaWorldAdapter(agent)


def _check_counts(least: int, **counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int | np.integer) or count < least:
            raise UsageError(name, got=repr(count), wanted=f"an integer, {least} or more")
