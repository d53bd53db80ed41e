"""Reads what a Meta-World vector environment would play, and leaves it as if it had played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from env_adapters import SuiteName
from env_adapters.metaworld.library import metaworld, version
from env_adapters.metaworld.simulator import MAX_HORIZON
from reglue.errors import UsageError
from reglue_bench.metaworld.drop_in_worlds import SubEnvironment, suite_of
from reglue_bench.metaworld.selection import Position, Selection

READ_VERSION = "3.1.1"
"""The version of metaworld whose wrappers and evaluation were read."""

_CHANGE_NOTHING = ("OrderEnforcing", "PassiveEnvChecker", "CheckpointWrapper")
_WRAPPERS = re.compile(
    r"(RandomTaskSelectWrapper|PseudoRandomTaskSelectWrapper) RecordEpisodeStatistics "
    r"(RNNBasedMetaRLWrapper )?(OneHotWrapper )?AutoTerminateOnSuccessWrapper TimeLimit"
)
"""From the outside to the inside, as `metaworld._init_each_env` puts them."""

_OTHER_AUTORESET = (
    "got a vector environment of autoreset_mode {}, wanted SAME_STEP, which metaworld.evaluation "
    "needs, too: make it by gym.make_vec(…, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP), or "
    'of Meta-World/MT1 with vector_kwargs={{"autoreset_mode": '
    "gym.vector.AutoresetMode.SAME_STEP}}"
)

_SEVERAL = "sub-environments that differ in "

_ASKED = ("call", "get_attr", "set_attr")
"""The methods that `metaworld.evaluation` calls on a vector environment, apart from Gymnasium's."""


class Unreadable(UsageError):
    """The environments of this vector environment cannot be read."""


@dataclass(frozen=True, slots=True)
class VectorEnvironment:
    """The suite to play, and the state of each sub-environment's selection."""

    names: tuple[str, ...]  # of the sub-environments' tasks
    suite: SuiteName
    selections: list[Selection]
    terminates: bool  # whether all terminate on success
    horizon: int


def read(envs: Any) -> VectorEnvironment:
    """Read a SyncVectorEnv or AsyncVectorEnv; nothing is changed.

    Raises Unreadable, naming what was found, for one that only `metaworld.evaluation` can play;
    UsageError for one that cannot be played at all.
    """
    _check_vector(envs)
    names = task_names(envs)
    shapes = [_wrappers(text) for text in envs.call("__str__")]
    if len(set(shapes)) > 1:
        raise _unreadable(_SEVERAL + f"their wrappers: {sorted(set(shapes))}", "one kind")
    try:
        return _read(envs, names, shapes[0])
    except AttributeError as error:
        raise _unreadable(f"sub-environments in which {error}", "Meta-World's own") from error


def leave(envs: Any, selections: Sequence[Selection]) -> None:
    """Set each sub-environment's generator and task to `selections`, and reset it."""
    before = [selection.before for selection in selections]
    if not any(before):
        envs.reset()
        return
    stands = [each.before or each.at for each in selections]
    envs.set_attr("_np_random", [each.generator for each in stands])
    if selections[0].shuffles:
        envs.set_attr("tasks", [each.tasks for each in stands])
        envs.set_attr("current_task_idx", [each.index for each in stands])
    envs.call("sample_tasks")  # the last draw: the environments' own, with a reset


def task_names(envs: Any) -> tuple[str, ...]:
    """The task of each sub-environment, such as "reach-v3". Raises Unreadable."""
    names = {cls.__name__: name for name, cls in metaworld("env_dict").ALL_V3_ENVIRONMENTS.items()}
    env_names = envs.get_attr("task_name")
    for each in env_names:
        if each not in names:
            raise _unreadable(f"sub-environments of the class {each}", "Meta-World's V3 classes")
    return tuple(names[each] for each in env_names)


def _read(envs: Any, names: tuple[str, ...], wrappers: str) -> VectorEnvironment:
    rewards = _one(envs.get_attr("reward_function_version"), "reward_function_version")
    if rewards != "v2":
        raise _unreadable(f"reward_function_version {rewards!r}", "'v2'")
    tasks = envs.get_attr("tasks")
    known = _known_variants(envs, tasks)
    one_hot = envs.get_attr("one_hot") if "OneHot" in wrappers else [()] * len(names)
    scale = (
        _one(envs.get_attr("_normalize_reward"), "normalize_reward") if "RNN" in wrappers else None
    )
    sub_envs = [
        SubEnvironment(
            name,
            tuple(sorted(set(variants.values()))),
            tuple(float(each) for each in hot),
            None if scale is None else 10.0 if scale else 1.0,
        )
        for name, variants, hot in zip(names, known, one_hot, strict=True)
    ]
    steps = _one(envs.get_attr("_max_episode_steps"), "their time limit")
    horizon = min(steps, MAX_HORIZON)
    return VectorEnvironment(
        names=names,
        suite=suite_of(sub_envs, horizon=horizon, dtype=str(envs.single_observation_space.dtype)),
        selections=_selections(envs, wrappers, tasks, known, sub_envs),
        terminates=bool(np.all(envs.get_attr("terminate_on_success"))),
        horizon=horizon,
    )


_NOW = "now"  # the key of the task that is set, among upstream's tasks

Variant = tuple[tuple[float, ...], bool]


def _known_variants(envs: Any, tasks: Sequence[Sequence[Any]]) -> list[dict[Any, Variant]]:
    """Each sub-environment's goals, and whether agents see them, by upstream's task.

    The key _NOW stands for the current task.
    """
    classes = metaworld("env_dict").ALL_V3_ENVIRONMENTS
    known: list[dict[Any, Variant]] = [
        {task: _decoded(classes[task.env_name], task) for task in of} for of in tasks
    ]
    is_set = envs.get_attr("_set_task_called")
    goals, hidden = envs.get_attr("_last_rand_vec"), envs.get_attr("_partially_observable")
    for place, variants in enumerate(known):
        if is_set[place] and goals[place] is not None:
            variants[_NOW] = (tuple(goals[place].tolist()), not hidden[place])
    return known


def _decoded(cls: type, task: Any) -> Variant:
    """A task's goal and visibility, as its environment reads them: upstream's own pickle."""
    env: Any = object.__new__(cls)
    env._partially_observable = env.sawyer_observation_space = None
    env.set_task(task)
    return tuple(env._last_rand_vec.tolist()), not env._partially_observable


def _selections(
    envs: Any,
    wrappers: str,
    tasks: Sequence[Sequence[Any]],
    known: Sequence[dict[Any, Variant]],
    sub_envs: Sequence[SubEnvironment],
) -> list[Selection]:
    shuffles = wrappers.startswith("Pseudo")
    on_reset = _one(envs.get_attr("sample_tasks_on_reset"), "sample_tasks_on_reset")
    indices = envs.get_attr("current_task_idx") if shuffles else [0] * len(tasks)
    generators = envs.get_attr("np_random")
    selections = []
    for place, env in enumerate(sub_envs):
        numbers = {task: env.variants.index(of) for task, of in known[place].items()}
        at = Position(_copied(generators[place]), list(tasks[place]), indices[place])
        selections.append(Selection(at, numbers, shuffles, on_reset, numbers.get(_NOW)))
    return selections


def _copied(generator: np.random.Generator) -> np.random.Generator:
    copied = np.random.Generator(type(generator.bit_generator)())
    copied.bit_generator.state = generator.bit_generator.state
    return copied


def _check_vector(envs: Any) -> None:
    kind = type(envs).__name__
    if not isinstance(envs, gym.vector.VectorEnv):
        raise UsageError(got=kind, wanted="a SyncVectorEnv or AsyncVectorEnv of gym.make_vec")
    if lacking := [name for name in _ASKED if not hasattr(envs, name)]:
        raise UsageError(
            f"got {kind}, which has no {', '.join(lacking)}; metaworld.evaluation needs them "
            "too: add them, or pass the environment that it wraps"
        )
    mode = envs.metadata.get("autoreset_mode")
    if mode != gym.vector.AutoresetMode.SAME_STEP:
        raise UsageError(_OTHER_AUTORESET.format(getattr(mode, "name", mode)))
    if version("metaworld") != READ_VERSION:
        raise _unreadable(f"metaworld {version('metaworld')}", f"metaworld {READ_VERSION}")
    if not isinstance(envs, gym.vector.SyncVectorEnv | gym.vector.AsyncVectorEnv):
        raise _unreadable(kind, "a SyncVectorEnv or AsyncVectorEnv itself")


def _wrappers(text: str) -> str:
    """The wrappers that matter, from `<A<B<C instance>>>` or `<A<B<C<its id>>>>`: "A B"."""
    *around, _ = re.findall(r"<(\w+)(?=[< ])", text)
    remaining = " ".join(each for each in around if each not in _CHANGE_NOTHING)
    if not _WRAPPERS.fullmatch(remaining):
        raise _unreadable(f"sub-environments {text}", "the wrappers that gym.make_vec puts on")
    return remaining


def _one(values: Sequence[Any], what: str) -> Any:
    """The value that all sub-environments share."""
    if any(value != values[0] for value in values):
        raise _unreadable(_SEVERAL + f"{what}: {list(values)}", "one for all")
    return values[0]


def _unreadable(got: str, wanted: str) -> Unreadable:
    return Unreadable(got=got, wanted=wanted)
