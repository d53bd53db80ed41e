"""A run is resumed by the agent object that began it, also where nothing is left to play."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reglue
from reglue.errors import PlanDiffers, RunDamaged
from reglue_bench.engines.agent_parameters import parameters_of
from reglue_bench.results.result import Result, read_result
from reglue_bench.run_folder import FIRST_TURNS
from reglue_bench.runs.observer import NullObserver
from tests.error_facts import raises
from tests.reglue_bench.toys import Interrupts, rows

CART_POLE = "evaluate:gymnasium:CartPole-v1"
GAINS = np.array([1.0, 0.5])


def lean(gains: Any, seen: Any) -> Any:
    return (seen[..., 2:] @ gains > 0).astype(int)


class Leans:
    """Its parameter is an attribute; it counts what it was asked."""

    def __init__(self, gain: float) -> None:
        self.gain, self.asked = gain, 0

    def __call__(self, seen: Any) -> Any:
        self.asked += 1
        return lean(self.gain * GAINS, seen)


@dataclass(slots=True)
class Gain:
    """No digest is known of it."""

    value: float


@dataclass(slots=True)
class Slotted(Gain):
    """Has no `__dict__`."""

    def __call__(self, seen: Any) -> Any:
        return lean(self.value * GAINS, seen)


class Predicts:
    """A model of another library than Stable-Baselines3."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> Any:
        return lean(self.gain * GAINS, observation), None


class Hides(reglue.Agent):
    """Its parameter is in an object of its own."""

    def __init__(self, gain: float) -> None:
        self.gain = Gain(gain)

    def turn(self, turn: reglue.Turn) -> Any:
        seen = turn.observations["observation"][len(turn.ends) :]
        return lean(self.gain.value * GAINS, seen)


class Draws(Hides):
    """Draws random numbers of its own."""

    def turn(self, turn: reglue.Turn) -> Any:
        acts = np.random.default_rng().integers(2, size=len(turn.steps) + len(turn.starts))
        return acts if len(acts) else {}


def closure(gain: float) -> Callable[[Any], Any]:
    gains = gain * GAINS
    return lambda seen: lean(gains, seen)


def model(seed: float) -> Any:
    from stable_baselines3 import PPO

    of_seed = int(10 * abs(seed) + (seed < 0))
    return PPO("MlpPolicy", "CartPole-v1", n_steps=64, seed=of_seed, device="cpu")


def module(gain: float) -> Callable[[Any], Any]:
    """A function over a network."""
    import torch

    net = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.constant_(net.weight, gain)
    return lambda seen: (net(torch.from_numpy(seen[:, 2:])).detach().numpy()[:, 0] > 0).astype(int)


def play(agent: Any, folder: Path | None = None, **options: Any) -> Result:
    options = {"num_episodes": 6, "slots": 2, "workers": 0} | options
    return reglue.evaluate(CART_POLE, agent, out=folder, **options)


def interrupted(agent: Any, folder: Path, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(agent, folder, watcher=Interrupts(3), **options)


AGENTS = pytest.mark.parametrize(
    ("make", "named"),
    [
        (Leans, "gain"),
        (closure, "gains"),
        (lambda gain: partial(lean, gain * GAINS), "argument 0"),
        (module, "net"),
        (model, "its policy"),
        (lambda gain: model(gain).predict, "its policy"),
        (Slotted, "value"),
        (Predicts, "its policy"),
        (Hides, "turn"),
    ],
    ids=[
        "attribute",
        "closure",
        "partial",
        "module",
        "model",
        "predict",
        "slots",
        "lookalike",
        "turns",
    ],
)


@AGENTS
@pytest.mark.parametrize("is_over", [False, True])
def test_another_object_is_refused_by_what_differs(
    tmp_path: Path,
    make: Any,
    named: str,
    is_over: bool,
) -> None:
    (play if is_over else interrupted)(make(1.0), tmp_path)
    before = rows(read_result(tmp_path))
    with raises(PlanDiffers, named):
        play(make(-1.0), tmp_path, resume=True)
    assert rows(read_result(tmp_path)) == before


@AGENTS
def test_the_same_object_or_one_made_alike_resumes(tmp_path: Path, make: Any, named: str) -> None:
    wanted = None if "its policy" in named else rows(play(make(1.0)))
    first = make(1.0)
    for number, again in enumerate((first, make(1.0))):
        folder = tmp_path / f"{number}"
        interrupted(first, folder)
        got = play(again, folder, resume=True)
        assert got.complete
        assert wanted in (None, rows(got))
        assert rows(play(make(1.0), folder, resume=True)) == rows(got)


def test_a_function_of_another_name_or_code_is_refused(tmp_path: Path) -> None:
    play(lambda seen: lean(GAINS, seen), tmp_path)
    with raises(PlanDiffers, "code"):
        play(lambda seen: 1 - lean(GAINS, seen), tmp_path, resume=True)

    def other(seen: Any) -> Any:
        return lean(GAINS, seen)

    with raises(PlanDiffers, "other"):
        play(other, tmp_path, resume=True)


def test_a_function_called_like_an_attribute_that_it_uses_has_digests() -> None:
    """np.zeros does not refer to the function: both have but one name."""

    def zeros(seen: Any) -> Any:
        return np.zeros(len(seen), np.int64)

    class Namespace:
        GAINS = 3

    def reads(seen: Any) -> Any:
        return Namespace.GAINS, [lean(seen, each) for each in seen]

    assert parameters_of(zeros).is_whole
    names = parameters_of(reads).digests.keys()
    assert "lean" in names
    assert "GAINS" not in names


def test_a_function_that_reads_a_global_is_that_of_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook."""

    def policy(seen: Any) -> Any:
        return lean(GAINS, seen)

    play(policy, tmp_path)
    monkeypatch.setitem(globals(), "GAINS", -GAINS)
    with raises(PlanDiffers, "GAINS"):
        play(policy, tmp_path, resume=True)


class Reads:
    """Its parameters are its class's, of a class above it, and of its module."""

    scale = 1.0

    def __call__(self, seen: Any) -> Any:
        return self.lean(seen)

    def lean(self, seen: Any) -> Any:
        return lean(self.scale * SIGN * GAINS, seen)


class Inherits(Reads):
    """Has nothing of its own."""


SIGN = 1.0


@pytest.mark.parametrize(
    ("place", "name", "value", "named"),
    [
        (Reads, "scale", -1.0, "scale"),
        (Reads, "lean", lambda self, seen: 1 - lean(GAINS, seen), "class"),
        (sys.modules[__name__], "SIGN", -1.0, "SIGN"),
    ],
    ids=["attribute of the class", "inherited method", "global of a method"],
)
def test_an_object_is_that_of_its_class_and_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, value: Any, named: str
) -> None:
    """As where a file is edited between two sessions."""
    play(Inherits(), tmp_path)
    assert parameters_of(Inherits()).is_whole
    play(Inherits(), tmp_path, resume=True)
    monkeypatch.setattr(place, name, value)
    with raises(PlanDiffers, named):
        play(Inherits(), tmp_path, resume=True)


def test_a_model_that_was_trained_on_is_another(tmp_path: Path) -> None:
    trained = model(1.0)
    play(trained, tmp_path)
    trained.learn(64)
    with raises(PlanDiffers, "its policy"):
        play(trained, tmp_path, resume=True)


def test_an_agent_that_draws_needs_a_name(tmp_path: Path) -> None:
    """Of the user's: its answers do not tell it from another one."""
    interrupted(Draws(1.0), tmp_path / "nameless")
    with raises(PlanDiffers, "label"):
        play(Draws(1.0), tmp_path / "nameless", resume=True)
    interrupted(Draws(1.0), tmp_path / "named", label="mine")
    with raises(PlanDiffers, "agent label"):
        play(Draws(1.0), tmp_path / "named", resume=True)
    assert play(Draws(1.0), tmp_path / "named", resume=True, label="mine").complete


def test_a_name_does_not_make_another_agent_the_same(tmp_path: Path) -> None:
    for make in (Leans, Hides):
        folder = tmp_path / make.__name__
        play(make(1.0), folder, label="mine")
        with raises(PlanDiffers, make.__name__):
            play(make(-1.0), folder, label="mine", resume=True)


class Learns(reglue.Agent):
    """Keeps what it has learned in an attribute that it is made with."""

    def __init__(self) -> None:
        self.weights = np.zeros(2)

    def agent_start(self, observations: Any, starts: Any) -> Any:
        return np.zeros(len(starts), np.int64)

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        self.weights += 1
        return np.zeros(len(steps), np.int64)


def test_an_agent_that_learns_needs_a_name(tmp_path: Path) -> None:
    def learn(folder: Path, **options: Any) -> Result:
        asked: dict[str, Any] = {"runs": 2, "episodes": 2, "episode_limit": 5, "workers": 0}
        return reglue.evaluate("online:mountain-car", Learns(), out=folder, **asked, **options)

    assert learn(tmp_path / "nameless").complete
    with raises(PlanDiffers, "label"):
        learn(tmp_path / "nameless", resume=True)
    assert learn(tmp_path / "named", label="mine").complete
    assert learn(tmp_path / "named", label="mine", resume=True).complete


class InterruptsAtOnce(NullObserver):
    """Before the first turn."""

    def begin(self, run: Any) -> None:
        raise KeyboardInterrupt


def test_where_nothing_was_played_nothing_is_mixed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(Draws(1.0), tmp_path, watcher=InterruptsAtOnce())
    assert not read_result(tmp_path).coverage.cells_completed
    assert play(Draws(1.0), tmp_path, resume=True).complete


def test_a_run_of_an_earlier_version_needs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("reglue_bench.runs.run._object_facts", lambda request: {})
        play(Leans(1.0), tmp_path)
    with raises(PlanDiffers, "earlier version", "label"):
        play(Leans(1.0), tmp_path, resume=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _kept: "{}",
        lambda _kept: "[]",
        lambda kept: json.dumps({name: kept[name] for name in kept if name != "clips"}),
        lambda kept: json.dumps(kept | {"turns": [["ff", kept["turns"][0][1]]]}),  # no message
        lambda kept: json.dumps(kept | {"turns": [["", kept["turns"][0][1]]]}),  # no turn
        lambda kept: json.dumps(kept | {"turns": [1]}),
    ],
    ids=["empty", "a list", "without a key", "no message", "no turn", "a number"],
)
def test_first_turns_that_cannot_be_read_are_said(
    tmp_path: Path, damage: Callable[[dict[str, Any]], str]
) -> None:
    play(Hides(1.0), tmp_path)
    file = tmp_path / FIRST_TURNS
    file.write_text(damage(json.loads(file.read_text())))
    with raises(RunDamaged, FIRST_TURNS):
        play(Hides(1.0), tmp_path, resume=True)


def test_a_run_that_is_not_kept_reads_no_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(agent: object) -> Any:
        raise AssertionError(agent)

    monkeypatch.setattr("reglue_bench.runs.run.parameters_of", refuse)
    monkeypatch.setattr("reglue_bench.runs.same_agent.parameters_of", refuse)
    assert play(Leans(1.0)).complete


SCRIPT = """
import json, sys
import numpy as np
from tests.reglue_bench.runs.test_same_agent import Leans, closure, parameters_of

print(json.dumps([dict(parameters_of(make(1.0)).digests) for make in (Leans, closure)]))
assert "torch" not in sys.modules
"""


def test_digests_are_the_same_in_every_process() -> None:
    here = [dict(parameters_of(make(1.0)).digests) for make in (Leans, closure)]
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True
    )
    assert json.loads(told.stdout) == here


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.reglue_bench.runs.test_same_agent import Hides, NullObserver, play
from reglue_bench.runs.ledger import LedgerReader

class Kills(NullObserver):
    def outcome(self, outcome, phase):
        with LedgerReader(folder) as ledger:
            if next(ledger.rows(), None) is not None:
                os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
play(Hides(1.0), folder, watcher=Kills(), num_episodes=500)
"""


def test_the_first_turns_of_a_run_that_is_killed_are_kept(tmp_path: Path) -> None:
    """From its first unit on, as whoever resumes it has to be known."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / FIRST_TURNS).stat().st_mode & 0o777 == 0o600
    with raises(PlanDiffers, "turn"):
        play(Hides(-1.0), tmp_path, resume=True, num_episodes=500)
