"""Programs that are measured: those that need nothing but Reglue."""

from __future__ import annotations

import pytest

from speed.launches import Contender, ContenderFailed, Program, Scale, rates, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("module", "arguments", "steps"),
    [
        ("plain_transports", ("socket",), 20),
        ("plain_transports", ("stream",), 20),
        ("plain_hub", ("socket",), 20),
        ("plain_hub", ("grpc",), 20),
        ("reglue_turns", ("grpc", "light", "1"), 20),
        ("reglue_turns", ("auto", "image", "2"), 40),
        ("reglue_turns", ("rl-glue", "process", "3"), 60),
        ("reglue_turns", ("rl-glue", "here", "3"), 60),
        ("vector_env_contender", ("sync", "3"), 60),
        ("dm_env_rpc", (), 20),
        ("dm_env_rpc", ("bridged", "3"), 60),
        ("openenv_turns", (), 20),
        ("openenv_turns", ("bridged", "3"), 60),
        ("stepped_contender", ("light", "socket", "3"), 60),
        ("stepped_contender", ("light", "here", "3"), 60),
        ("stepped_contender", ("CartPole-v1", "socket", "3"), 60),
        ("stepped_contender", ("CartPole-v1", "here", "3"), 60),
        ("stepped_contender", ("CartPole-v1", "sync", "3"), 60),
        ("stepped_contender", ("CartPole-v1", "hand", "3"), 60),
    ],
)
def test_a_contender_measures_as_often_as_it_is_asked(
    module: str, arguments: tuple[str, ...], steps: int
) -> None:
    with Contender(module, *arguments) as contender:
        for _ in range(2):
            found = contender.measure(steps=20)
            assert found["steps"] == steps
            assert found["seconds"] > 0


def test_the_loops_over_cart_pole_play_the_same_episodes() -> None:
    returns = []
    for kind in ("default", "0", "2", "sync", "plain"):
        with Contender("cart_pole", kind) as contender:
            found = contender.measure(episodes=13)  # some environments play one more
            assert found["seconds"] > 0
            returns.append(found["returns"])
    assert len(returns[0]) == 13
    assert all(each == returns[0] for each in returns)


@pytest.mark.parametrize("kind", ["vector", "jax"])
def test_batches_are_stepped_alone_and_evaluated(kind: str) -> None:
    turns = []
    for by in ("steps", "evaluate"):
        with Contender("batched_contender", kind, "3", by) as contender:
            turns.append(contender.measure(rounds=1)["turns"])
    assert turns[0] == 500
    assert 100 < turns[1] <= 500


@pytest.mark.parametrize("transport", ["auto", "grpc"])
def test_as_many_agents_play_as_are_asked_for(transport: str) -> None:
    with Contender("reglue_turns", "agents", transport, "2") as contender:
        assert contender.measure(count=1, seconds=1.0)["steps"] > 0
        assert contender.measure(count=2, seconds=1.0)["steps"] > 0


def test_a_contender_that_fails_is_heard() -> None:
    with (
        Contender("vector_env_contender", "sync", "many") as contender,
        pytest.raises(ContenderFailed, match="invalid literal for int"),
    ):
        contender.measure(steps=1)


def test_a_program_that_fails_is_heard() -> None:
    with pytest.raises(ContenderFailed, match="invalid literal for int"):
        run("speed.contenders.reglue_evaluation", "many")


def test_many_episodes_are_played_to_the_last() -> None:
    found = run("speed.contenders.reglue_evaluation", "10").found
    assert found["seconds"] > 0
    assert found["peak_bytes"] > 10**7


def test_who_cannot_be_measured_is_noted_and_the_others_are_measured() -> None:
    programs = (
        Program("broken", "vector_env_contender", ("sync", "many"), 20),
        Program("socket", "plain_transports", ("socket",), 20),
    )
    series, notes = rates(programs, "steps/s", rounds=2, scale=Scale(), watch=lambda _: None)
    assert [(each.name, len(each.samples)) for each in series] == [("socket", 2)]
    (note,) = notes
    assert note.startswith("broken could not be measured: ValueError: invalid literal")
