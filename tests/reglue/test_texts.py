"""Texts as observations and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters.gymnasium.gymnasium_suite import OneEnvironment
from reglue.environments.environment import Earned, Environment
from reglue.environments.validation import conforming_row
from reglue.environments.world import Step
from reglue.errors import BadArgument, IllegalAction, NotAnEnvironment
from reglue.messages.environment_messages import Cell
from reglue.spec import MOST_EXTRA, Box, TaskSpec, TensorSpec
from reglue.texts import Text, action_texts, observation_texts
from reglue.wire.spec_encoding import spec_from_bytes, spec_to_bytes
from reglue_bench import evaluate

SAID = spaces.Text(4, min_length=2, charset="aé€")
NAME = spaces.Text(3)
ACTIONS = spaces.Dict(said=SAID, turn=spaces.Discrete(2), name=NAME)


class Talks(gymnasium.Env[Any, Any]):
    """Ends after ten actions."""

    observation_space = spaces.Discrete(11)
    action_space = ACTIONS

    def reset(self, **_: Any) -> Any:
        self.at = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        assert action in ACTIONS
        self.at += 1
        return self.at, float(len(action["said"])), self.at == 10, False, {}


def said(extra: str, *, size: int = 12, dtype: str = "uint8") -> TaskSpec:
    tensor = TensorSpec("said", dtype, (size,), Box((0,), (255,)))
    return TaskSpec((TensorSpec("seen", "int64"),), (tensor,), extra=extra)


def test_random_plays_an_environment_whose_actions_are_texts() -> None:
    result = evaluate(Talks, agent="random", num_episodes=3)
    assert result.complete
    assert [row.steps for row in result.episodes] == [10, 10, 10]
    assert all(20 < row.return_ < 40 for row in result.episodes)  # 2 to 4 characters each


def test_a_spec_tells_of_its_texts_over_the_wire_too() -> None:
    spec = OneEnvironment("talks", Talks, {}).spec
    texts = action_texts(spec_from_bytes(spec_to_bytes(spec)))
    assert texts == {
        "said": Text("said", 4, min_length=2, charset="aé€"),
        "name": Text("name", 3, min_length=1, charset="".join(NAME.character_list)),
    }


def test_texts_are_drawn_of_each_length_and_character() -> None:
    text, rng = Text("said", 4, min_length=2, charset="aé€"), np.random.default_rng(0)
    drawn = [text.decode(text.sample(rng)) for _ in range(200)]
    assert all(each in SAID for each in drawn)
    assert {len(each) for each in drawn} == {2, 3, 4}
    assert set("".join(drawn)) == set("aé€")
    assert text.encode("éa").tolist() == [*"éa".encode(), *[0] * 9]


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "Mountain Car",
        "[1]",
        '{"action_texts": 3}',
        '{"action_texts": {"said": {"min_length": 1}}}',
        '{"action_texts": {"other": {"min_length": 1, "max_length": 2}}}',
        '{"action_texts": {"said": {"min_length": 3, "max_length": 2}}}',
        '{"action_texts": {"said": {"min_length": 1, "max_length": 13, "charset": "ab"}}}',
        '{"action_texts": {"said": {"min_length": 1, "max_length": 4}}}',  # of up to 16 bytes
        '{"action_texts": {"said": {"min_length": 1, "max_length": 2, "charset": ""}}}',
        '{"action_texts": {"said": {"min_length": 1, "max_length": 2, "charset": 3}}}',
        '{"action_texts": {"said": {"min_length": 1.5, "max_length": 2}}}',
        '{"action_texts": {"said": {"max_length": 2, "row_bytes": 2}}}',
        "[" * MOST_EXTRA,
    ],
)
def test_another_extra_tells_of_no_texts(extra: str) -> None:
    assert action_texts(said(extra)) == {}


def test_only_bytes_are_texts_and_too_many_characters_are_not_told() -> None:
    extra = '{"action_texts": {"said": {"max_length": 3, "charset": "ab"}}}'
    assert action_texts(said(extra))["said"].encode("ab").shape == (12,)
    assert action_texts(said(extra, dtype="int64")) == {}
    seen = TensorSpec("seen", "int64")
    many = Text("said", 3, charset="".join(map(chr, range(1, 5000))))
    assert TaskSpec((seen,), (many,)).extra == ""
    told = TaskSpec((Text("seen", 3),), (many,))
    assert observation_texts(told) == {"seen": Text("seen", 3)}
    assert action_texts(told) == {}
    assert TaskSpec((seen,), (many,), extra="Mountain Car").extra == "Mountain Car"


# Texts of a suite's own.

ORDER = Text("order", 20)
ANSWER = Text("answer", 5, charset="abc")


class Quiz:
    """A suite and its world: repeat the letters of the order."""

    spec = TaskSpec((ORDER, TensorSpec("left", "int64")), (ANSWER,))
    variants: Mapping[str, int] = {"quiz": 1}
    standardizes = False

    def world(self) -> Quiz:
        return Quiz()

    def start(self, cell: Cell) -> dict[str, Any]:
        self.left = 3
        return {"order": "sag äb", "left": 3}

    def step(self, action: Any) -> Step:
        self.left -= 1
        reward = float(ANSWER.decode(action["answer"]) == "ab")
        return Step(reward, {"order": "", "left": self.left}, self.left == 0, False, False)

    def close(self) -> None:
        pass


class ManyQuizzes(Environment):
    """The same in one call for all slots."""

    def env_init(self, slots: int) -> TaskSpec:
        return Quiz.spec

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        return {"order": ["sag äb"] * len(cells), "left": np.full(len(cells), 1)}

    def env_step(self, actions: Any, slots: Any) -> Earned:
        rewards = [ANSWER.decode(row) == "ab" for row in actions["answer"]]
        return Earned(rewards, {"order": [""] * len(slots), "left": rewards}, terminated=True)


def repeats(observations: Any) -> Any:
    """A policy over batches that reads and writes texts."""
    orders = [ORDER.decode(row) for row in observations["order"]]
    assert {*orders} <= {"", "sag äb"}
    return np.stack([ANSWER.encode("ab" if order else "ccc") for order in orders])


@pytest.mark.parametrize("environment", [Quiz, ManyQuizzes])
def test_an_environment_returns_texts_and_decodes_them(environment: Any) -> None:
    result = evaluate(environment, repeats, num_episodes=3, slots=2)
    assert result.mean_return == 1.0
    assert evaluate(environment, agent="random", num_episodes=3).complete


def test_a_tensor_of_text_becomes_a_plain_one_in_a_spec() -> None:
    assert ORDER != ORDER.plain == TensorSpec("order", "uint8", (80,), Box((0,), (255,)))
    assert Quiz.spec.observations[0] == ORDER.plain
    assert action_texts(Quiz.spec) == {"answer": ANSWER}


@pytest.mark.parametrize("text", ["d", "abcabc", "ab\0", "a" * 99])
def test_other_texts_are_refused_both_ways(text: str) -> None:
    with pytest.raises(BadArgument, match="answer"):
        ANSWER.encode(text)
    with pytest.raises(IllegalAction, match="answer"):
        ANSWER.decode(np.frombuffer(text.encode() + b"!", np.uint8))


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(IllegalAction, match="UTF-8"):
        ORDER.decode(np.array([0xC3, 0, 0], np.uint8))


@pytest.mark.parametrize(
    ("text", "got"), [("x" * 81, "81 bytes"), ("a\0b", "a\\x00b"), ("\ud800", "ud800")]
)
def test_a_text_that_does_not_fit_is_the_environments_mistake(text: str, got: str) -> None:
    with pytest.raises(NotAnEnvironment, match="'order'") as refused:
        conforming_row({"order": text, "left": 1}, Quiz.spec.observations[0], Quiz.spec)
    assert got in refused.value.got


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_length": -1},
        {"max_length": 2, "min_length": 3},
        {"max_length": 2.5},
        {"max_length": 2, "charset": ""},
        {"max_length": 2, "charset": "a\0"},
        {"max_length": 10**9},
    ],
)
def test_texts_that_no_row_can_hold_are_refused(arguments: Any) -> None:
    with pytest.raises(BadArgument):
        Text("order", **arguments)
