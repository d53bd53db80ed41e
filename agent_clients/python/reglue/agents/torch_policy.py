"""Plays a PyTorch module, without importing PyTorch: the module's program has done that."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from reglue.agents.agent import Agent, Chosen, actions_of
from reglue.error_message import error_text
from reglue.errors import BadArgument, NotAnAgent
from reglue.messages.agent_messages import Turn
from reglue.spec import Array, Arrays, Box, Discrete, TaskSpec, TensorSpec


def is_module(candidate: object) -> bool:
    """Whether it is a `torch.nn.Module`."""
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    return module is not None and isinstance(candidate, module)


class TorchPolicy(Agent):
    """Plays a `torch.nn.Module` that maps a batch of observations to a batch of actions.

    The module gets a tensor, `(rows, *shape)`, or a dict of tensors by name if the task has several
    observations. They are on the module's device. Numbers of a Box have the module's dtype, others
    are int64. It is called in `eval()` mode and under `no_grad`, and returns to the mode it was in.

    Args:
        module: is neither copied nor changed.
        decide: how its outputs become actions: None if they are actions, "argmax" if they are a
            number for each action of a Discrete, `(rows, n)`, the largest of which is chosen.

    Raises BadArgument for another `decide`.

    Examples:
        >>> import torch
        >>> import reglue
        >>> net = torch.nn.Linear(4, 2)  # a number for each of CartPole's two actions
        >>> policy = reglue.TorchPolicy(net, decide="argmax")
        >>> result = reglue.evaluate("evaluate:gymnasium:CartPole-v1", agent=policy, num_episodes=1)
        >>> result.agent.name
        'Linear'
    """

    def __init__(self, module: Any, *, decide: Literal["argmax"] | None = None) -> None:
        if decide not in (None, "argmax"):
            raise BadArgument(got=f"decide={decide!r}", wanted="'argmax' or None")
        self.module = module
        self.decide = decide

    def check_task(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if what the module makes of two observations are no actions."""
        rng = np.random.default_rng(0)
        seen = {
            tensor.name: np.stack([tensor.sample(rng) for _ in range(2)])
            for tensor in spec.observations
        }
        shapes = ", ".join(f"{rows.shape} {rows.dtype}" for rows in seen.values())
        name, hint = type(self.module).__name__, _hint(self.decide)
        wanted = ", ".join(f"{each.name} {(2, *each.shape)} {each.dtype}" for each in spec.actions)
        try:
            actions_of(spec, self._decided(self._outputs(seen, spec), spec), rows=2)
        except NotAnAgent as error:
            raise NotAnAgent(name, got=error.got, wanted=f"actions, {wanted}; {hint}") from error
        except Exception as error:  # the edge of somebody's module
            got = f"{error_text(error)}, for observations {shapes}"
            raise NotAnAgent(name, got=got, wanted=f"actions, {wanted}; {hint}") from error

    def turn(self, turn: Turn) -> Chosen:
        """The module's actions for all episodes that continue or begin."""
        if not len(turn.steps) + len(turn.starts):
            return {}
        rows = {name: each[len(turn.ends) :] for name, each in turn.observations.items()}
        return self._decided(self._outputs(rows, self.spec), self.spec)

    def _outputs(self, rows: Arrays, spec: TaskSpec) -> Any:
        torch: Any = sys.modules["torch"]  # whose module it is
        first = next(self.module.parameters(), torch.zeros(0))
        tensors = {
            tensor.name: torch.as_tensor(rows[tensor.name], device=first.device).to(
                first.dtype if isinstance(tensor.domain, Box) else torch.int64
            )
            for tensor in spec.observations
        }
        with torch.no_grad(), _evaluating(self.module):
            return self.module(next(iter(tensors.values())) if len(tensors) == 1 else tensors)

    def _decided(self, outputs: Any, spec: TaskSpec) -> Chosen:
        """The actions that outputs are or stand for. Raises NotAnAgent if they are none."""
        if isinstance(outputs, dict):
            return {name: _array(each) for name, each in outputs.items()}
        array = _array(outputs)
        if self.decide is None:
            if array.dtype.kind == "f" and spec.actions[0].numpy_dtype.kind != "f":
                got = f"outputs {array.shape} {array.dtype}"
                raise NotAnAgent(got=got, wanted=spec.actions[0].dtype)
            return array
        return _largest(array, spec.actions)


def _largest(array: Array, actions: tuple[TensorSpec, ...]) -> Array:
    domain = actions[0].domain
    if len(actions) > 1 or not isinstance(domain, Discrete) or actions[0].shape:
        raise NotAnAgent(got="decide='argmax'", wanted="a task whose action is one Discrete")
    if array.shape[1:] != (domain.n,):
        raise NotAnAgent(got=f"outputs {array.shape}", wanted=f"(rows, {domain.n})")
    largest: Array = array.argmax(axis=1) + domain.start
    return largest


def _array(output: Any) -> Array:
    if not hasattr(output, "detach"):
        raise NotAnAgent(got=f"an output of type {type(output).__name__}", wanted="a tensor")
    of_float = output.is_floating_point() and output.itemsize < 4  # NumPy has no bfloat16
    array: Array = (output.float() if of_float else output).detach().cpu().numpy()
    return array


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Call `eval()`; then each part returns to its own mode."""
    training = [each for each in module.modules() if getattr(each, "training", False)]
    if training:
        module.eval()
    try:
        yield
    finally:
        for each in training:
            each.training = True


def _hint(decide: str | None) -> str:
    others = (
        "or give a function of a batch of observations, or for a recurrent network a reglue.Agent "
        "that keeps its state for each slot"
    )
    if decide is not None:
        return others
    return (
        f"say how outputs become actions, as by reglue.TorchPolicy(net, decide='argmax'), {others}"
    )
