"""Texts as actions: which ones there are is said in a TaskSpec's `extra`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters.gymnasium.gymnasium_suite import OneEnvironment
from reglue.spec import MOST_EXTRA, Box, TaskSpec, TensorSpec
from reglue.texts import Text, action_texts, extra_of_texts, text_row
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
        "said": Text(2, 4, "aé€"),
        "name": Text(1, 3, "".join(NAME.character_list)),
    }


def test_texts_are_drawn_of_each_length_and_character() -> None:
    text, rng = Text(2, 4, "aé€"), np.random.default_rng(0)
    drawn = [text.sample(rng) for _ in range(200)]
    assert all(each in SAID for each in drawn)
    assert {len(each) for each in drawn} == {2, 3, 4}
    assert set("".join(drawn)) == set("aé€")
    assert text_row("é", 4).tolist() == [*"é".encode(), 0, 0]


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "Mountain Car",
        "[1]",
        '{"action_texts": 3}',
        '{"action_texts": {"said": {"min_length": 1}}}',
        extra_of_texts({"other": Text(1, 2, "ab")}),
        extra_of_texts({"said": Text(3, 2, "ab")}),
        extra_of_texts({"said": Text(1, 13, "ab")}),  # longer than the tensor
        extra_of_texts({"said": Text(1, 2, "")}),
        "[" * MOST_EXTRA,
    ],
)
def test_another_extra_tells_of_no_texts(extra: str) -> None:
    assert action_texts(said(extra)) == {}


def test_only_bytes_are_texts_and_too_many_characters_are_not_told() -> None:
    extra = extra_of_texts({"said": Text(1, 3, "ab")})
    assert action_texts(said(extra)).keys() == {"said"}
    assert action_texts(said(extra, dtype="int64")) == {}
    assert extra_of_texts({"said": Text(1, 3, "".join(map(chr, range(1, 5000))))}) == ""
    assert extra_of_texts({}) == ""
