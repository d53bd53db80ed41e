"""Meta-World's scripted policies, which need to know the task and the goal.

It needs `metaworld` and learns which task a slot plays from, in this order: the
argument `task`, the observation `task` (an index into the sorted names of the 50
tasks), or the one-hot after the robot's 39 numbers. A one-hot of 10, 25 or 50 is MT10's, MT25's or
MT50's.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.agents.metaworld import ALL_TASKS, MT10, MT25, MT50
from reglue.errors import MissingExtra, NotAnAgent, UnknownName
from reglue.messages.agent_messages import Starts, Steps
from reglue.spec import Array, Arrays, TaskSpec

ROBOT_NUMBERS = 39
"""The numbers of an observation that Meta-World's policies read; a one-hot follows them."""

_ORDERS = {len(tasks): tasks for tasks in (MT10, MT25, MT50)}  # by the one-hot's width


class ExpertAgent(Agent):
    """Plays the policy written for the task, and ignores rewards.

    Raises MissingExtra without Meta-World, UnknownName for an unknown `task`.
    """

    adapts = True  # it learns nothing, but meta-learning benchmarks may judge it

    partial_turns = True

    def __init__(self, task: str | None = None) -> None:
        self._policies = policies()
        if task is not None and task not in self._policies:
            raise UnknownName("task of Meta-World", task, self._policies)
        self._task = task

    def agent_init(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if observations do not say which task is played."""
        width = {tensor.name: tensor.size for tensor in spec.observations}.get("observation", 0)
        shows_task = any(tensor.name == "task" for tensor in spec.observations)
        if width < ROBOT_NUMBERS:
            raise NotAnAgent(
                "the expert plays only Meta-World: got no `observation` of 39 numbers or more"
            )
        if self._task is None and not shows_task and width - ROBOT_NUMBERS not in _ORDERS:
            raise NotAnAgent(
                "the expert cannot tell the task",
                got=f"{width - ROBOT_NUMBERS} numbers after the robot's 39",
                wanted=(
                    "a one-hot of 10, 25 or 50; give it task=NAME, or have the run reveal its tasks"
                ),
            )
        self._playing: dict[int, Any] = {}

    def agent_start(self, observations: Arrays, starts: Starts) -> Array:
        """Choose each slot's policy, then act."""
        for row, slot in enumerate(starts.slots.tolist()):
            self._playing[slot] = self._policies[self._task_of(observations, row)]()
        return self._act(observations, starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Array:
        """Act by each slot's policy."""
        return self._act(observations, steps.slots)

    def _act(self, observations: Arrays, slots: npt.NDArray[np.uint32]) -> Array:
        # A copy, since some policies (door-open's) write into it.
        robot = observations["observation"][:, :ROBOT_NUMBERS].copy()
        with warnings.catch_warnings():
            # The policies exceed the action's bounds, and warn each time.
            warnings.simplefilter("ignore", UserWarning)
            rows = [
                self._playing[slot].get_action(row)
                for slot, row in zip(slots.tolist(), robot, strict=True)
            ]
        return np.array(rows, np.float64)

    def _task_of(self, observations: Arrays, row: int) -> str:
        if self._task is not None:
            return self._task
        if "task" in observations:
            return ALL_TASKS[int(np.ravel(observations["task"][row])[0])]
        one_hot = observations["observation"][row, ROBOT_NUMBERS:]
        return _ORDERS[len(one_hot)][int(np.argmax(one_hot))]


_PACKAGE = "metaworld"


def policies() -> Mapping[str, Any]:
    """The policies' classes by task name. Raises MissingExtra."""
    try:
        if _PACKAGE in sys.modules:
            module = importlib.import_module(f"{_PACKAGE}.policies")
        else:
            with _stub_package():
                module = importlib.import_module(f"{_PACKAGE}.policies")
    except ModuleNotFoundError as error:
        raise MissingExtra("the example agent `expert`", "metaworld", "Meta-World") from error
    by_task: Mapping[str, Any] = module.ENV_POLICY_MAP
    return by_task


@contextmanager
def _stub_package() -> Iterator[None]:
    """Load modules without the package around them; they leave `sys.modules` at the end."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(name=_PACKAGE)
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        for name in [each for each in sys.modules if each.split(".")[0] == _PACKAGE]:
            del sys.modules[name]
