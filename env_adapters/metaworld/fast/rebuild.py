"""Rebuilds upstream's functions with other globals."""

from __future__ import annotations

import sys
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from env_adapters.metaworld.fast.arithmetic import (
    lengths_here,
    numpy_like,
    rotation_like,
    tolerance_like,
)
from env_adapters.metaworld.library import metaworld


def rebuilt(task_class: type, mixin: type, slots: tuple[str, ...]) -> type:
    """A class like `mixin` and `task_class`, with the latter's functions first.

    The functions read cheaper versions of their globals; where they call each other by
    the class's name, they call the new one.
    """
    scope = dict(vars(sys.modules[task_class.__module__]))
    for name, value in scope.items():
        scope[name] = _replacements().get(id(value), value)
    functions = {name: _rebuild(value, scope) for name, value in vars(task_class).items()}
    members = {name: value for name, value in functions.items() if value is not None}
    extra = {"__slots__": slots, "rewards": _fast_rewards()}
    made = type(task_class.__name__, (mixin, task_class), members | extra)
    scope[task_class.__name__] = made
    return made


def _rebuild(member: Any, scope: dict[str, Any]) -> Any:
    """The same code with `scope` as its globals; None if it is no function."""
    if isinstance(member, staticmethod):
        return staticmethod(_with_globals(member.__func__, scope))
    if isinstance(member, FunctionType):
        return _with_globals(_undecorated(member), scope)
    return None


def _undecorated(function: FunctionType) -> FunctionType:
    """What `assert_task_is_set` checks a task for; a step comes after a start."""
    names = function.__code__.co_freevars
    if names == ("func",) and function.__closure__:
        decorated: FunctionType = function.__closure__[0].cell_contents
        return decorated
    return function


def _with_globals(function: Any, scope: dict[str, Any]) -> FunctionType:
    code = function.__code__.replace()  # its own: the interpreter adapts it to what it meets
    copied = FunctionType(
        code, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


@cache
def _replacements() -> dict[int, Any]:
    """Replacements of upstream's globals, by the original's id."""
    numpy, rewards = metaworld("sawyer_xyz_env").np, metaworld("utils.reward_utils")
    rotation = metaworld("envs.sawyer_push_v3").Rotation
    return {
        id(numpy): numpy_like(),
        id(rewards): _fast_rewards(),
        id(rewards.tolerance): _fast_rewards().tolerance,
        id(rotation): rotation_like(rotation),
    }


@cache
def _fast_rewards() -> Any:
    rewards = metaworld("utils.reward_utils")
    fast = ModuleType(rewards.__name__)
    fast.__dict__.update(
        vars(rewards), tolerance=tolerance_like(rewards.tolerance), lengths=lengths_here()
    )
    return fast
