"""What a procedure is told: settings that were given, and its defaults for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from reglue.errors import UsageError
from reglue_bench.plans.plan import Parameter
from reglue_bench.procedures import PARAMETERS
from reglue_bench.procedures.meta_learning import trials
from reglue_bench.results.metrics import measured
from reglue_bench.settings import Settings, flag

_Given = TypeVar("_Given")

DEFAULT_SLOTS = 10
DEFAULT_META_BATCH = 20
DEFAULT_RUNS = 30
DEFAULT_EPISODES = 200

MOST_EPISODES = 10_000_000
"""Of a plan: each takes some bytes before the first is played."""

EPISODE_LIMIT = 10_000_000
"""Steps, as in the concepts page's RL_benchmark: `RL_episode(10000000)`."""


def check_parameters(settings: Settings, procedure: str) -> None:
    """Raise UsageError for a parameter of another procedure."""
    for other, names in PARAMETERS.items():
        for name in names:
            if other != procedure and getattr(settings, name) is not None:
                raise UsageError(
                    f"{flag(name)} belongs to {other} benchmarks; {settings.benchmark} is "
                    f"{procedure}, which takes {', '.join(map(flag, PARAMETERS[procedure]))}"
                )


def own_parameters(
    settings: Settings, procedure: str, variants: Mapping[str, int]
) -> dict[str, Parameter]:
    """The procedure's parameters. Raises UsageError for what cannot be."""
    match procedure:
        case "multi-task":
            return _multi_task(settings, variants)
        case "meta-learning":
            return _meta_learning(settings, variants)
        case _:
            return _online(settings)


def worst_performance(
    settings: Settings, own: Mapping[str, Parameter], *, reward_low: float, horizon: int
) -> dict[str, Parameter]:
    """What a run, or a judged episode, is worth that ends by its agent's own fault.

    What was declared; else the least that the measure can give, so that no agent gains by
    giving up: the least reward where runs are counted in steps; else the least return, of a
    single step where rewards cannot be negative, of the longest episode where they can.
    Nothing where there is no such bound.
    """
    if settings.worst_performance is not None:
        return {"worst_performance": settings.worst_performance}
    longest = min((int(n) for n in (horizon, own.get("episode_limit", 0)) if n), default=0)
    if not math.isfinite(reward_low) or (reward_low < 0 and not (longest or "steps" in own)):
        return {}
    is_single = "steps" in own or reward_low >= 0
    return {"worst_performance": float(reward_low if is_single else reward_low * longest)}


def slots(settings: Settings, procedure: str, default: int = DEFAULT_SLOTS) -> int:
    """How many episodes are played at once: `default` where that is free and was not said.

    Raises UsageError where it is not free.
    """
    match procedure:
        case "multi-task":
            return chosen(settings.slots, default)
        case "meta-learning":
            batch = chosen(settings.meta_batch_size, DEFAULT_META_BATCH)
            advice = (
                "a meta-learner plays a slot for each trial of its meta-batch; "
                f"give --meta-batch-size {settings.slots}"
            )
        case _:
            batch = 1
            advice = "an agent that learns online plays one episode after another; leave it away"
    if settings.slots not in (None, batch):
        raise UsageError(f"got --slots {settings.slots}: {advice}")
    return batch


def chosen(given: _Given | None, default: _Given) -> _Given:
    """What was given, or the default."""
    return default if given is None else given


def _multi_task(settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
    """One episode for each goal, as Meta-World's documentation has it. Raises UsageError."""
    episodes = chosen(settings.num_episodes, max(variants.values()))
    if len(variants) * episodes > MOST_EPISODES:
        raise UsageError(
            f"got a plan of {len(variants)} tasks × {episodes} episodes, wanted at most "
            f"{MOST_EPISODES} in all: give {flag('num_episodes')} N"
        )
    return {"num_episodes": episodes}


def _meta_learning(settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
    """Meta-World's defaults; as many evaluations as it takes to play every goal once."""
    batch = chosen(settings.meta_batch_size, DEFAULT_META_BATCH)
    return {
        "num_evals": chosen(settings.num_evals, -(-len(trials(variants)) // batch)),
        "adaptation_steps": chosen(settings.adaptation_steps, 1),
        "adaptation_episodes": chosen(settings.adaptation_episodes, 10),
        "evaluation_episodes": chosen(settings.evaluation_episodes, 3),
        "meta_batch_size": batch,
        "evaluate_before_adaptation": chosen(settings.evaluate_before_adaptation, False),
    }


def _online(settings: Settings) -> dict[str, Parameter]:
    """A run is so many episodes, or so many steps."""
    if settings.episodes and settings.steps:
        raise UsageError("got --episodes and --steps; a run is counted in one of them")
    quota = settings.steps or chosen(settings.episodes, DEFAULT_EPISODES)
    metric = chosen(settings.metric, "all")
    measured(metric, quota)  # refuses what cannot be
    return {
        "runs": chosen(settings.runs, DEFAULT_RUNS),
        "steps" if settings.steps else "episodes": quota,
        "episode_limit": chosen(settings.episode_limit, EPISODE_LIMIT),
        "metric": metric,
    }
