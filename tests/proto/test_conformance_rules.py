"""proto/CONFORMANCE.md says what the programs do: its rule is written here again, byte by byte."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server.conformance.check_runner import checks_of
from glue_server.conformance.checks import CHECKS
from glue_server.conformance.conformance_tasks import TASKS, random_rows
from glue_server.conformance.drivers.experiment_driver import (
    HalfStep,
    Instruction,
    Pause,
    Success,
    instruction_text,
)
from reglue import Box, Discrete, MultiBinary, MultiDiscrete, Phase, TensorSpec
from reglue.conformance import ConformanceAgent, ConformanceEnvironment
from reglue.conformance.rule import elements, fold, tensor_bytes
from reglue.conformance.words import spec_of_text, spec_text, stepped_words
from reglue.environments.environment_dispatch import play_environment
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    EndKind,
    Ends,
    Freeze,
    Starts,
    Steps,
    TextMessage,
    Turn,
)
from reglue.messages.environment_messages import (
    Cell,
    EnvironmentInit,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    StandardizeRandomness,
)
from reglue.messages.experiment_messages import (
    EnvMessage,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
    Stepped,
)

README = (Path(__file__).parents[2] / "proto" / "CONFORMANCE.md").read_text(encoding="utf-8")
NO_SLOTS = np.zeros(0, np.uint32)

# The rule, as it stands in prose.


def took(memory: int, taken: bytes) -> int:
    for byte in taken:
        memory = (memory * 16777619 + byte) % 2**32
    return memory


def draw(memory: int, number: int) -> int:
    z = (memory + number * 2654435769) % 2**32
    z ^= z >> 16
    z = z * 2246822507 % 2**32
    z ^= z >> 13
    z = z * 3266489909 % 2**32
    return z ^ (z >> 16)


def element(memory: int, j: int, tensor: TensorSpec, place: int) -> Any:
    a, b = draw(memory, 2 * j), draw(memory, 2 * j + 1)
    w = a + b * 2**32
    dtype = np.dtype(tensor.dtype)
    match tensor.domain:
        case MultiBinary():
            return a % 2
        case Discrete(n, start):
            return start + w % n
        case MultiDiscrete(n):
            return w % n[place]
        case Box() if dtype.kind == "b":
            return a % 2
        case Box() if dtype.kind in "ui":
            lowest = w % 2 ** (8 * dtype.itemsize)
            return lowest if lowest <= np.iinfo(dtype).max else lowest - 2 ** (8 * dtype.itemsize)
        case Box(low, high) if low and high:
            least, most = low[place % len(low)], high[place % len(high)]
            return least + (most - least) * ((a % 257) / 256)
    return (a - 2**31) + (b % 2**21) / 2**21


def made(memory: int, tensors: Sequence[TensorSpec]) -> dict[str, Any]:
    arrays, j = {}, 0
    for tensor in tensors:
        row = [element(memory, j + place, tensor, place) for place in range(tensor.size)]
        arrays[tensor.name] = np.array(row, tensor.dtype).reshape(tensor.shape)
        j += tensor.size
    return arrays


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"image"}))
def test_elements_are_those_of_the_prose(name: str) -> None:
    memory = np.array([0, 2166136261, 2**32 - 1], np.uint32)
    tensors = TASKS[name].actions
    arrays = elements(memory, tensors)
    for row, one in enumerate(memory.tolist()):
        for tensor, wanted in made(one, tensors).items():
            np.testing.assert_array_equal(arrays[tensor][row], wanted, strict=True)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 9000])
def test_bytes_are_taken_in_as_in_the_prose(size: int) -> None:
    block = np.random.default_rng(size).integers(0, 256, (2, size), np.uint8)
    memory = fold(np.array([7, 2**32 - 1], np.uint32), block)
    assert memory.tolist() == [took(7, block[0].tobytes()), took(2**32 - 1, block[1].tobytes())]


# The examples.


def block(info: str) -> str:
    """The only fenced block whose fence says `info`."""
    (found,) = re.findall(rf"^```{info}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(found)


SPEC = spec_of_text(block("text spec"))


def lines(info: str) -> Iterator[tuple[str, str]]:
    """First word and rest of each line."""
    for line in block(info).splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


def test_the_agents_example_follows_the_prose() -> None:
    memory = 2166136261
    for name, rest in lines("text agent"):
        match name:
            case "start" | "step" | "end":
                memory = took(memory, bytes.fromhex(rest))
            case "memory":
                assert f"{memory:08x}" == rest
            case "draws":
                assert " ".join(f"{draw(memory, i):08x}" for i in range(6)) == rest
            case _:
                assert numbers(made(memory, SPEC.actions)[name]) == numbers(rest)


def test_the_agent_does_as_its_example() -> None:
    agent = ConformanceAgent()
    agent.spec = SPEC
    agent.agent_init(SPEC)
    wanted = [rest for name, rest in lines("text agent") if name in {"force", "grip"}]
    start = turn((0.0, 1.0), door_open=False, starts=Starts(slot(), seeds(0x0123456789ABCDEF)))
    step = turn((0.25, 3.0), door_open=True, reward=-0.25, steps=Steps(slot(), byte(2)))
    end = turn((1.5, -2.0), door_open=True, reward=1.0, ends=Ends(slot(), byte(EndKind.TRUNCATED)))
    agent.phase = Phase.TRAIN
    got = [numbers(row) for one in (start, step) for row in agent.turn(one).values()]  # type: ignore[union-attr]
    assert got == [numbers(rest) for rest in wanted]
    assert agent.turn(end) == {}
    memory = [rest for name, rest in lines("text agent") if name == "memory"][-1]
    assert f"{agent._memory[0]:08x}" == memory


def test_the_environments_example_follows_the_prose() -> None:
    told = list(lines("text environment"))
    memory = took(2166136261, b"first" + struct.pack("<IBQ", 1, 1, 1000))
    rng = took(2166136261, struct.pack("<QQ", 41, 3))
    shown = (*SPEC.observations, TensorSpec("reward", "float64"), TensorSpec("success", "bool"))
    for name, rest in told:
        match name:
            case "begin":
                assert f"{memory:08x} {rng:08x}" == rest
            case "start" | "step":
                memory = took(took(memory, bytes.fromhex(rest)), struct.pack("<I", rng))
                rng = draw(rng, 1)
            case "memory":
                assert f"{memory:08x}" == rest
            case "rng":
                assert f"{rng:08x}" == rest
            case _:
                row = made(memory, shown)[name]
                words, _, inner = rest.partition(" [")
                assert numbers(row) == numbers(words)
                assert not inner or row.tobytes() == bytes.fromhex(inner.rstrip("]"))


def test_the_environment_does_as_its_example() -> None:
    environment = ConformanceEnvironment()
    play_environment(environment, TextMessage(f"play\n{block('text spec')}"))
    play_environment(environment, EnvironmentInit(4))
    start = Play(NO_SLOTS, {}, {2: Cell("first", 1, 41, 3, Phase.TRAIN, 1000)})
    action: dict[str, Any] = {
        "force": np.array([[0.5, -1.0]], np.float32),
        "grip": np.array([-1], np.int16),
    }
    told = [
        numbers(rest.partition(" [")[0])
        for name, rest in lines("text environment")
        if name in {"position", "door_open", "reward", "success"}
    ]
    first = play_environment(environment, start)
    steps = [play_environment(environment, Play(slot(2), action, {})) for _ in range(7)]
    second, last = steps[0], steps[-1]
    assert isinstance(first, Played)
    assert isinstance(second, Played)
    assert isinstance(last, Played)
    got = [
        *first.observations.values(),
        *second.observations.values(),
        second.rewards,
        second.success,
    ]
    assert [numbers(each) for each in got] == told
    assert (last.truncated.tolist(), last.terminated.tolist()) == ([True], [False])


def test_a_step_is_seen_as_in_its_example() -> None:
    told = [(rest[:8], bytes.fromhex(rest[8:])) for _, rest in lines("text experiment")]
    assert [f"{took(2166136261, taken):08x}" for _, taken in told] == [word for word, _ in told]
    stepped = Stepped(
        (2, 0),
        np.array([-0.25, 1.0]),
        {"position": np.array([[0.25, 3], [1.5, -2]]), "door_open": np.array([True, False])},
        terminated=np.array([False, True]),
        truncated=np.array([False, False]),
        success=np.array([False, True]),
        actions={
            "force": np.array([[0.5, -1], [0, 0]], np.float32),
            "grip": np.array([-1, 0], np.int16),
        },
    )
    assert stepped_words(SPEC, stepped) == " ".join(word for word, _ in told)


@pytest.mark.parametrize(
    "instruction",
    [
        *(HalfStep(kind, (1, 0), 3) for kind in (RLEnvStep, RLAgentStart, RLAgentStep, RLAgentEnd)),
        *(RLInit(2, 7), RLStart(), RLStep((1,)), RLEpisode(9), RLCounts(1), Cleanup(), Freeze()),
        *(GetState(0), RLSetState(0, "key"), GetRandomSeed(0), RLSetRandomSeed(0, "key")),
        *(StandardizeRandomness(5), TextMessage("a"), EnvMessage("a"), RLEnvStart(), Pause(3)),
        *(RLTasks(), RLIterateGoal((1,)), Success(1), AdaptBegin(), Adapt()),
        RLEpisode(9, (1,), Goal("task", 2)),
    ],
)
def test_every_instruction_is_explained(instruction: Instruction) -> None:
    name, _, arguments = instruction_text(instruction).partition(" ")
    section = README.partition("## The benchmark program")[2].partition("\n## ")[0]
    (told,) = re.findall(rf"^\|[^|]*`{name}( [A-Z_ ]+)?`", section, re.MULTILINE)
    assert len(arguments.split()) >= len(told.split()) - told.endswith("SLOTS")


# The rest of the page.


@pytest.mark.parametrize("name", TASKS)
def test_a_spec_in_words_says_it_all(name: str) -> None:
    assert spec_of_text(spec_text(TASKS[name])) == TASKS[name]


ASKED_OF = {tuple(CHECKS): "all", ("agent", "environment"): "both"}


def test_the_table_has_every_check_and_what_it_wants() -> None:
    told = re.findall(r"^\| `(\w+\.[\w-]+)` \| (\w+) \| (.*) \|$", README, re.MULTILINE)
    asked: dict[tuple[str, str], list[str]] = {}
    for role, checks in CHECKS.items():
        for check in checks:
            asked.setdefault((check.name, check.wanted), []).append(role)
    wanted = {
        (name, ASKED_OF.get(tuple(roles), f"{roles[0]}s"), sentence)
        for (name, sentence), roles in asked.items()
    }
    assert set(told) == wanted


@pytest.mark.parametrize("role", CHECKS)
def test_the_table_of_checks_for_any_program_is_whole(role: str) -> None:
    rows = {"agent": ("all", "both", "agents"), "environment": ("all", "both", "environments")}
    told: set[str] = set()
    for row in rows.get(role, ("all", "experiments")):
        (cell,) = re.findall(rf"^\| {row} \| ([^|]*`[^|]*) \|$", README, re.MULTILINE)
        for part in cell.split(";"):
            with_, _, without = part.partition(" without ")
            told |= named(role, with_) - named(role, without)
    assert told == {check.name for check in checks_of(role, level="wire")}


def named(role: str, globs: str) -> set[str]:
    """The checks of a role whose names match a glob in the text."""
    found = re.findall(r"`([^`]*)`", globs)
    return {each.name for each in CHECKS[role] if any(fnmatchcase(each.name, g) for g in found)}


@pytest.mark.parametrize("program", [ConformanceAgent, ConformanceEnvironment])
def test_every_count_is_explained(program: type[ConformanceAgent | ConformanceEnvironment]) -> None:
    for name in json.loads(program()._commands.answer("counts")):
        assert f"`{name}`" in README


def test_random_rows_are_finite_and_in_their_domain() -> None:
    for task in TASKS.values():
        rows = random_rows(np.random.default_rng(1), task.actions, 5)
        for block_of, tensor in zip(tensor_bytes(task.actions, rows, 5), task.actions, strict=True):
            assert block_of.shape == (5, tensor.row_bytes)
            if tensor.dtype.startswith("float"):
                assert np.isfinite(rows[tensor.name]).all()


def turn(position: tuple[float, float], *, door_open: bool, **parts: Any) -> Turn:
    """A turn of one row in slot 0."""
    rewards = np.array([parts.pop("reward")] if "reward" in parts else [], np.float64)
    whole: dict[str, Any] = {
        "ends": Ends(NO_SLOTS, np.zeros(0, np.uint8)),
        "steps": Steps(NO_SLOTS, np.zeros(0, np.uint8)),
        "starts": Starts(NO_SLOTS, np.zeros(0, np.uint64)),
    }
    observations = {"position": np.array([position]), "door_open": np.array([door_open])}
    return Turn(Phase.TRAIN, **whole | parts, rewards=rewards, observations=observations)


def slot(number: int = 0) -> Any:
    return np.array([number], np.uint32)


def seeds(seed: int) -> Any:
    return np.array([seed], np.uint64)


def byte(value: int) -> Any:
    return np.array([value], np.uint8)


def numbers(of: Any) -> list[float]:
    """Of a row, or of words."""
    return [float(each) for each in (of.split() if isinstance(of, str) else np.ravel(of))]
