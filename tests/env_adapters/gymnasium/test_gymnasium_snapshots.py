"""A kept state goes on to the bit, here and in another process, or is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from env_adapters.gymnasium import Gymnasium
from env_adapters.states import (
    EpisodeState,
    GeneratorState,
    read_episode_state,
    read_generator_state,
)
from reglue.errors import BadArgument, UnknownName, UsageError
from tests.env_adapters.gymnasium.gymnasium_playing import KNOWN, actions, cell, exact, run
from tests.error_facts import raises
from tests.programs import run_python

pytestmark = pytest.mark.slow

OTHER_PROCESS = """
import json, sys
from env_adapters.gymnasium import Gymnasium
from tests.env_adapters.gymnasium.gymnasium_playing import actions, cell, run

for job in json.loads(sys.stdin.read()):
    suite = Gymnasium(job["name"], **job["options"])
    world = suite.world()
    world.start(cell(job["name"], seed=8))
    run(world, actions(suite, 1))
    world.set_state(bytes.fromhex(job["state"]))
    print(json.dumps(run(world, actions(suite, 30, stretch=0.2)[5:])))
"""


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize(("name", "options"), KNOWN)
def test_a_state_goes_on_to_the_bit_in_a_fresh_suite(
    name: str, options: dict[str, Any], steps: int
) -> None:
    suite = Gymnasium(name, **options)
    world, chosen = exact(suite), actions(suite, 30, stretch=0.2)
    world.start(cell(name))
    run(world, chosen[:steps])
    state = world.get_state()
    expected = run(world, chosen[steps:])

    fresh = exact(Gymnasium(name, **options))
    fresh.set_state(state)
    assert run(fresh, chosen[steps:]) == expected


def test_a_state_goes_on_to_the_bit_in_another_process() -> None:
    """There in a world that is in the middle of something else."""
    jobs, expected = [], []
    for name, options in KNOWN:
        suite = Gymnasium(name, **options)
        world, chosen = exact(suite), actions(suite, 30, stretch=0.2)
        world.start(cell(name))
        run(world, chosen[:5])
        jobs.append({"name": name, "options": options, "state": world.get_state().hex()})
        expected.append(run(world, chosen[5:]))
    done = run_python(OTHER_PROCESS, given=json.dumps(jobs), PYTHONWARNINGS="error")
    for (name, _), line, here in zip(KNOWN, done.stdout.splitlines(), expected, strict=True):
        assert [tuple(step) for step in json.loads(line)] == here, name


def test_a_state_that_was_set_is_kept_as_it_was() -> None:
    suite = Gymnasium("Ant-v5")
    world = exact(suite)
    world.start(cell("Ant-v5"))
    run(world, actions(suite, 4))
    state = world.get_state()
    fresh = exact(suite)
    fresh.set_state(state)
    assert fresh.get_state() == state


def test_time_goes_on_from_where_it_was() -> None:
    suite = Gymnasium("Pendulum-v1", max_episode_steps=6)
    world, chosen = exact(suite), actions(suite, 9)
    world.start(cell("Pendulum-v1"))
    run(world, chosen[:4])
    fresh = exact(suite)
    fresh.set_state(world.get_state())
    assert [truncated for *_, truncated in run(fresh, chosen)] == [False, True]


def test_a_passenger_who_has_changed_his_mind_does_not_again() -> None:
    """Taxi's passenger does so once, at his first move; the last two bits are where to."""
    suite = Gymnasium("Taxi-v4", fickle_passenger=True, fickle_probability=1, max_episode_steps=-1)
    world, fresh, generator = exact(suite), exact(suite), np.random.default_rng(0)
    seen = start = int(world.start(cell("Taxi-v4"))["observation"])
    while seen % 4 == start % 4:
        move_or_pick_up = {"action": generator.integers(0, 5, ())}
        seen = int(world.step(move_or_pick_up).observation["observation"])
    fresh.set_state(world.get_state())
    moves = [np.asarray(move) for move in generator.integers(0, 4, 40)]
    assert run(fresh, moves) == run(world, moves)


@pytest.mark.parametrize("routine", ["get_state", "get_random_seed"])
def test_without_an_episode_there_is_nothing_to_keep(routine: str) -> None:
    with raises(UsageError, "start"):
        getattr(exact(Gymnasium("CartPole-v1")), routine)()


def test_without_an_episode_there_is_no_chance_to_set() -> None:
    suite = Gymnasium("CartPole-v1")
    world = exact(suite)
    world.start(cell("CartPole-v1"))
    with raises(UsageError, "start"):
        exact(suite).set_random_seed(world.get_random_seed())


def test_a_random_seed_brings_back_the_chance_and_nothing_else() -> None:
    """On a slippery lake: from the same place, with another chance and with its own."""
    suite = Gymnasium("FrozenLake-v1")
    world, chosen = exact(suite), actions(suite, 20)
    world.start(cell("FrozenLake-v1", seed=9))
    other = world.get_random_seed()
    world.start(cell("FrozenLake-v1"))
    start, own = world.get_state(), world.get_random_seed()
    expected = run(world, chosen)
    world.set_state(start)
    world.set_random_seed(other)
    assert run(world, chosen) != expected
    world.set_state(start)
    world.set_random_seed(other)
    world.set_random_seed(own)
    assert run(world, chosen) == expected


def _with(**changes: Any) -> Callable[[bytes], bytes]:
    def spoil(state: bytes) -> bytes:
        return dataclasses.replace(read_episode_state(state), **changes).to_bytes()

    return spoil


def _of(**changes: str) -> Callable[[bytes], bytes]:
    def spoil(state: bytes) -> bytes:
        saved = read_episode_state(state)
        return dataclasses.replace(saved, suite={**saved.suite, **changes}).to_bytes()

    return spoil


def _sealed(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Changes what the checksum protects, and the checksum."""

    def spoil(kept: bytes) -> bytes:
        start = kept.index(b"\n") + 1
        body = change(kept[start + 32 :])
        return kept[:start] + hashlib.sha256(body).digest() + body

    return spoil


def _headed(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def spoil(body: bytes) -> bytes:
        (length,) = struct.unpack_from("<I", body)
        header = change(body[4 : 4 + length])
        return struct.pack("<I", len(header)) + header + body[4 + length :]

    return _sealed(spoil)


def _flipped(kept: bytes) -> bytes:
    return kept[:-100] + bytes([kept[-100] ^ 1]) + kept[-99:]


def _of_an_impossible_generator(state: bytes) -> bytes:
    words = read_episode_state(state).generator.copy()
    words[10] = 5  # words drawn of a block of four
    return _with(generator=words)(state)


Spoil = Callable[[bytes], bytes]
BAD: Mapping[str, tuple[Spoil, str]] = {
    "nothing": (lambda kept: b"", "b''"),
    "foreign": (lambda kept: b"\x80\x04K\x01.", r"b'\x80\x04K\x01.'"),
    "only its first line": (lambda kept: kept[: kept.index(b"\n") + 1], "damaged"),
    "truncated": (lambda kept: kept[:-8], "damaged"),
    "flipped": (_flipped, "damaged"),
    "of an empty body": (_sealed(lambda body: b""), "4 bytes"),
    "of an empty header": (_headed(lambda header: b"{}"), "KeyError('arrays')"),
    "of a header that is no object": (_headed(lambda header: b"17"), "TypeError"),
    "of a header without numbers": (
        _headed(lambda header: header[:1] + header[9:]),
        "JSONDecodeError",
    ),
    "of too few numbers": (_sealed(lambda body: body[:-8]), "ValueError"),
    "of too many numbers": (_sealed(lambda body: body + bytes(8)), "8 bytes too many"),
    "of a suite that is no object": (
        _headed(lambda header: header.replace(b'"suite": {', b'"suite": 1, "x": {')),
        "AttributeError",
    ),
}
"""Damages to a state or a random seed, and the cause that the refusal names."""
BAD_STATES: Mapping[str, tuple[Spoil, str]] = {
    "of another id": (_of(id="CartPole-v0"), "id CartPole-v0"),
    "of other options": (_of(options='{"sutton_barto_reward": true}'), "sutton_barto_reward"),
    "of another Gymnasium": (_of(gymnasium="1.0.0"), "gymnasium 1.0.0"),
    "of another NumPy": (_of(numpy="1.0.0"), "numpy 1.0.0"),
    "of a model": (_of(model="00"), "model 00"),
    "of another task": (_with(cell=cell("Acrobot-v1")), "task in this suite 'Acrobot-v1'"),
    "of a late step": (_with(steps=500), "500 steps"),
    "of a negative step": (_with(steps=-1), "-1 steps"),
    "of other sizes": (_with(inside={"state": np.zeros(3)}), "{'state': (3,)}"),
    "of other names": (_with(inside={"s": np.zeros(4)}), "{'s': (4,)}"),
    "of another dtype": (
        _headed(lambda header: header.replace(b"float64", b"complex64")),
        "complex64",
    ),
    "of an impossible generator": (_of_an_impossible_generator, "13 words"),
    "of a short generator": (_with(generator=np.zeros(12, np.uint64)), "13 words"),
}


@pytest.mark.parametrize(
    ("spoil", "named"), [*BAD.values(), *BAD_STATES.values()], ids=[*BAD, *BAD_STATES]
)
def test_a_state_that_is_not_its_own_is_refused_and_the_episode_goes_on(
    spoil: Spoil,
    named: str,
) -> None:
    suite = Gymnasium("CartPole-v1")
    world, chosen = exact(suite), actions(suite, 15)
    world.start(cell("CartPole-v1"))
    run(world, chosen[:3])
    state = world.get_state()
    expected = run(world, chosen[3:])
    world.set_state(state)
    with raises(UnknownName if "task" in named else BadArgument, named):
        world.set_state(spoil(state))
    assert run(world, chosen[3:]) == expected


@pytest.mark.parametrize(("spoil", "named"), BAD.values(), ids=BAD.keys())
def test_a_random_seed_that_is_not_its_own_is_refused_and_chance_stays(
    spoil: Spoil,
    named: str,
) -> None:
    world = exact(Gymnasium("CartPole-v1"))
    world.start(cell("CartPole-v1"))
    seed = world.get_random_seed()
    with raises(BadArgument, named):
        world.set_random_seed(spoil(seed))
    assert world.get_random_seed() == seed


def test_a_random_seed_of_another_suite_is_refused() -> None:
    world, other = exact(Gymnasium("CartPole-v1")), exact(Gymnasium("Acrobot-v1"))
    world.start(cell("CartPole-v1"))
    other.start(cell("Acrobot-v1"))
    with raises(BadArgument, "id", "Acrobot-v1", "CartPole-v1"):
        world.set_random_seed(other.get_random_seed())


def test_a_state_is_no_random_seed() -> None:
    world = exact(Gymnasium("CartPole-v1"))
    world.start(cell("CartPole-v1"))
    with raises(BadArgument, "reglue.episode.state.1", "random seed"):
        world.set_random_seed(world.get_state())


def test_a_refused_state_begins_no_episode() -> None:
    suite = Gymnasium("MountainCar-v0")
    world, fresh = exact(suite), exact(suite)
    world.start(cell("MountainCar-v0"))
    with raises(BadArgument, {"state": (3,)}, {"state": (2,)}):
        fresh.set_state(_with(inside={"state": np.zeros(3)})(world.get_state()))
    with raises(UsageError, "start"):
        fresh.get_state()


def test_a_state_under_a_model_of_another_content_is_refused(tmp_path: Path) -> None:
    """The option names the same file; what it held when the state was kept was another."""
    model = Path(gymnasium.__file__).parent / "envs/mujoco/assets/half_cheetah.xml"
    text, mine = model.read_text(encoding="utf-8"), tmp_path / "cheetah.xml"
    assert 'timestep="0.01"' in text

    mine.write_text(text, encoding="utf-8")
    world = exact(Gymnasium("HalfCheetah-v5", xml_file=str(mine)))
    world.start(cell("HalfCheetah-v5"))
    state = world.get_state()

    mine.write_text(text.replace("-9.81", "-1.62"), encoding="utf-8")
    other = exact(Gymnasium("HalfCheetah-v5", xml_file=str(mine)))
    with raises(BadArgument, "model"):
        other.set_state(state)


def test_a_state_under_a_map_that_was_drawn_is_refused_by_other_worlds() -> None:
    suite = Gymnasium("FrozenLake-v1", map_name=None)
    world, other = exact(suite), exact(suite)
    world.start(cell("FrozenLake-v1"))
    with raises(BadArgument, "desc"):
        other.set_state(world.get_state())


def test_what_is_kept_reads_as_it_was_written() -> None:
    world = exact(Gymnasium("Taxi-v4"))
    world.start(cell("Taxi-v4"))
    state, seed = world.get_state(), world.get_random_seed()
    saved, generator = read_episode_state(state), read_generator_state(seed)
    assert (type(saved), type(generator)) == (EpisodeState, GeneratorState)
    assert (saved.cell, saved.steps) == (cell("Taxi-v4"), 0)
    assert (saved.to_bytes(), generator.to_bytes()) == (state, seed)
