"""A PyTorch module is an agent if it is said how its outputs become actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from glue_server import Glue
from reglue.agents.adaptation import agent_of
from reglue.agents.torch_policy import TorchPolicy
from reglue.errors import BadArgument, NotAnAgent
from reglue.spec import Box, Discrete, MultiDiscrete, TaskSpec, TensorSpec
from reglue.tools.loading import agent_name
from tests.error_facts import raises

SEEN = TensorSpec("seen", "float32", (3,), Box((-1.0,), (1.0,)))
PLACE = TensorSpec("place", "int64", (), Discrete(4, start=1))
PULL = TensorSpec("pull", "float32", (2,), Box((-1.0,), (1.0,)))


def task(action: TensorSpec, *seen: TensorSpec) -> TaskSpec:
    return TaskSpec(seen or (SEEN,), (action,))


class Module(torch.nn.Module):  # type: ignore[misc]
    """Remembers what it is given, and returns what a function makes of it."""

    def __init__(self, answer: Any, dtype: Any = torch.float32) -> None:
        super().__init__()
        self.answer = answer
        self.weight = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
        self.inner = torch.nn.Dropout()
        self.given: list[Any] = []
        self.modes: set[tuple[bool, bool, bool]] = set()

    def forward(self, seen: Any) -> Any:
        self.given.append(seen)
        self.modes.add((self.training, self.inner.training, torch.is_grad_enabled()))
        return self.answer(seen)


def test_a_module_whose_outputs_are_actions_plays_as_it_is() -> None:
    module = Module(lambda seen: torch.where(seen[:, 1] < 0, 0, 2), torch.float64)
    module.inner.eval()
    with Glue(environment="mountain-car", agent=module) as rl:
        rl.init()
        rl.episode()
        assert rl.return_() == -121.0  # as the function in test_adaptation.py
    assert module.modes == {(False, False, False)}
    assert module.training
    assert not module.inner.training
    assert {seen.dtype for seen in module.given} == {torch.float64}
    assert agent_name(module) == agent_name(agent_of(module)) == "Module"


@pytest.mark.parametrize("start", [0, -1])
def test_argmax_is_the_action_with_the_largest_number(start: int) -> None:
    policy = TorchPolicy(Module(lambda seen: seen), decide="argmax")
    spec = task(TensorSpec("action", "int64", (), Discrete(3, start)))
    policy.check_task(spec)
    policy.spec = spec
    rows = torch.tensor([[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    decided: Any = policy._decided(rows, spec)
    assert decided.tolist() == [2 + start, 1 + start]


def test_several_observations_are_a_dict_and_numbers_of_a_discrete_stay_integers() -> None:
    module = Module(lambda seen: seen["seen"][:, :2])
    TorchPolicy(module).check_task(task(PULL, SEEN, PLACE))
    [given] = module.given
    assert {name: each.dtype for name, each in given.items()} == {
        "seen": torch.float32,
        "place": torch.int64,
    }


TWO = TensorSpec("action", "int64", (), Discrete(2))
REFUSED = [
    (lambda seen: seen[:, :2], TWO, None),  # numbers of actions, and nobody says what they are
    (lambda seen: seen[:, :1], TWO, None),  # nor is one float an action
    (lambda seen: torch.zeros(len(seen)), TWO, None),
    (lambda seen: seen[:, :1], PULL, None),
    (lambda seen: (seen[:, :2], seen[:, 0]), PULL, None),
    (lambda seen: torch.distributions.Normal(seen, 1.0), PULL, None),
    (lambda seen: seen["observation"], PULL, None),
    (lambda seen: seen, TWO, "argmax"),
    (lambda seen: seen[:, :2], PULL, "argmax"),
    (lambda seen: seen, TensorSpec("action", "int64", (2,), MultiDiscrete((3, 3))), "argmax"),
]


@pytest.mark.parametrize(("answer", "action", "decide"), REFUSED)
def test_outputs_that_are_no_actions_are_refused_with_the_ways(
    answer: Any, action: TensorSpec, decide: Any
) -> None:
    ways = ["function"] if decide else ["function", "reglue.TorchPolicy", "argmax"]
    with raises(NotAnAgent, "Module", action.name, *ways):
        TorchPolicy(Module(answer), decide=decide).check_task(task(action))


def test_how_outputs_become_actions_is_one_of_the_known_ways() -> None:
    with raises(BadArgument, got="decide='softmax'"):
        TorchPolicy(Module(np.zeros), decide="softmax")  # type: ignore[arg-type]


def test_floats_that_numpy_lacks_become_actions() -> None:
    policy = TorchPolicy(Module(lambda seen: seen[:, :2], torch.bfloat16))
    policy.check_task(task(PULL))
