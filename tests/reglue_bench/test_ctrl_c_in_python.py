"""Ctrl-C ends a program's evaluation and the program; nobody else's KeyboardInterrupt does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import AgentFault, EnvironmentFault, SessionLost, UsageError
from reglue_bench.results.result import Result, read_result
from reglue_bench.runs.observer import NullObserver
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.waiting import PATIENCE_S, until
from tests.worlds import Corridor

CART_POLE = "evaluate:gymnasium:CartPole-v1"


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def raises_it() -> None:
    raise KeyboardInterrupt


def leaves() -> None:
    sys.exit(3)


ACTS = {each.__name__: each for each in (press, terminate, raises_it, leaves)}


def zeros(observations: Any) -> Any:
    return np.zeros(len(observations), np.int64)


class Does(gymnasium.Env[Any, Any]):
    """Does one of ACTS in the third step of its episodes, or of the episode of one seed."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    closed = 0  # environments

    def __init__(self, what: str = "press", sound: int = 0, only: int | None = None) -> None:
        self.what, self.only = what, only
        self.sound = sound  # episodes before

    def reset(self, *, seed: int | None = None, **_: Any) -> Any:
        self.steps, self.sound = 0, self.sound - 1
        if self.only not in (None, seed):
            self.sound = 1
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == 3 and self.sound < 0:
            ACTS[self.what]()
        return np.zeros(2, np.float32), 1.0, self.steps == 4, False, {}

    def close(self) -> None:
        Does.closed += 1


NAMED = f"{__name__}:Does"


class DoesInTurn:
    """A policy that does one of ACTS in a turn."""

    def __init__(self, what: str = "press", turn: int = 9) -> None:
        self.what, self.left = what, turn

    def __call__(self, observations: Any) -> Any:
        self.left -= 1
        if not self.left:
            ACTS[self.what]()
        return zeros(observations)


def play(benchmark: Any = CART_POLE, agent: Any = zeros, **options: Any) -> Result:
    return reglue.evaluate(benchmark, agent=agent, **{"num_episodes": 6, **options})


# The user's.


@pytest.mark.parametrize("raise_faults", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_an_evaluation_closes_all_and_raises(workers: int, raise_faults: bool) -> None:
    with nothing_left(), pytest.raises(KeyboardInterrupt) as raised:
        play(agent=DoesInTurn(), workers=workers, raise_faults=raise_faults)
    [note] = raised.value.__notes__  # there is nothing to continue
    assert f"{__file__}, line " in note


@pytest.mark.parametrize("benchmark", [Does, Does(), lambda: Does()])  # noqa: PLW0108
def test_an_environment_of_this_process_may_be_where_it_is_heard(benchmark: Any) -> None:
    with nothing_left(), pytest.raises(KeyboardInterrupt):
        play(benchmark)


def test_the_note_says_how_the_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options: dict[str, Any] = {"slots": 1, "repeat_check": False}
    options["environment_args"] = {"sound": 3}
    with pytest.raises(KeyboardInterrupt) as raised:
        play(Does, out=folder, **options)
    place, note = raised.value.__notes__
    assert f"{__file__}, line " in place
    assert repr(str(folder)) in note
    assert "resume=True" in note
    assert read_result(folder).coverage.cells_completed == 3
    assert play(Does, out=folder, resume=True, **options).complete


def test_a_loop_over_evaluations_ends() -> None:
    begun = []

    def evaluate_often() -> None:
        for number in range(70):
            begun.append(number)
            evaluator(DoesInTurn(), raise_faults=False)

    with reglue.Evaluator(CART_POLE, num_episodes=6, workers=0) as evaluator:
        with pytest.raises(KeyboardInterrupt):
            evaluate_often()
        assert begun == [0]
        assert evaluator(zeros).complete  # whoever caught it may go on


def test_an_evaluator_keeps_what_was_finished(tmp_path: Path) -> None:
    with (
        nothing_left(),
        reglue.Evaluator(CART_POLE, num_episodes=6, slots=1, workers=1) as evaluator,
        pytest.raises(KeyboardInterrupt) as raised,
    ):
        evaluator(DoesInTurn(turn=20), out=tmp_path / "run")
    assert str(tmp_path) in raised.value.__notes__[-1]
    options: dict[str, Any] = {"slots": 1, "workers": 0, "out": tmp_path / "run"}
    assert play(agent=DoesInTurn(turn=0), resume=True, **options).complete


class PressesAtTheEnd(NullObserver):
    """Presses Ctrl-C when all is played, and an episode is about to be played again."""

    def end(self) -> None:
        press()


def test_it_is_raised_where_all_was_played(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(out=tmp_path / "run", watcher=PressesAtTheEnd(), workers=0)
    assert read_result(tmp_path / "run").complete


def test_it_ends_the_learning_of_a_model_and_logs_nothing() -> None:
    from stable_baselines3 import PPO

    from reglue_bench.sb3 import EvalCallback

    model = PPO("MlpPolicy", Does(sound=1000), n_steps=64, n_epochs=1, device="cpu")
    watching = EvalCallback(Does, eval_freq=64, num_episodes=3)
    with nothing_left(), pytest.raises(KeyboardInterrupt):
        model.learn(128, callback=watching)
    assert not watching.evaluations_results
    assert "eval/mean_reward" not in model.logger.name_to_value


def test_a_python_handler_that_raises_is_the_users_too() -> None:
    """As a job's SIGTERM, which a script turns into its own end."""

    def leave(*_: object) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        for benchmark, agent in ((Does("terminate"), zeros), (CART_POLE, DoesInTurn("terminate"))):
            with nothing_left(), pytest.raises(SystemExit) as raised:
                play(benchmark, agent, workers=0)
            assert raised.value.code == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_evaluation_within_an_agent_ends_the_outer_one() -> None:
    def plans(observations: Any) -> Any:
        play(agent=DoesInTurn(), workers=0)
        return zeros(observations)

    with pytest.raises(KeyboardInterrupt):
        play(agent=plans, workers=0)


def test_within_an_event_loop_it_ends_the_loop() -> None:
    """As in a notebook."""

    async def cell() -> None:
        play(agent=DoesInTurn(), workers=0)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())


def test_in_another_thread_the_main_one_hears_it() -> None:
    """As everywhere in Python; the thread plays on."""
    played: list[Result] = []

    def evaluate() -> None:
        played.append(play(agent=DoesInTurn(), workers=0))

    def wait() -> None:
        threading.Thread(target=evaluate).start()
        until(lambda: bool(played), "it is heard")

    with pytest.raises(KeyboardInterrupt):
        wait()
    until(lambda: bool(played), "the evaluation is over")
    assert played[0].complete


# Whoever raises it by itself.

ITSELF = pytest.mark.parametrize(
    ("what", "cause"), [("raises_it", "KeyboardInterrupt"), ("leaves", "SystemExit: 3")]
)


@ITSELF
@pytest.mark.parametrize("benchmark", ["class", "object", "name"])
def test_an_environment_that_raises_it_by_itself_is_at_fault(
    what: str, cause: str, benchmark: str
) -> None:
    options: dict[str, Any] = {"environment_args": {"what": what}}
    given = {
        "class": (Does, options),
        "object": (Does(what), {}),
        "name": (f"evaluate:{NAMED}", options | {"workers": 0}),
    }
    with nothing_left(), raises(EnvironmentFault, cause):
        play(given[benchmark][0], **given[benchmark][1])


class Never(Does):
    """Cannot be made."""

    def __init__(self) -> None:
        leaves()


def test_an_environment_that_leaves_while_it_is_made_is_refused() -> None:
    for benchmark in (Never, lambda: Never(), f"evaluate:{__name__}:Never"):  # noqa: PLW0108
        with raises(UsageError, "SystemExit: 3"):
            play(benchmark, workers=0)
    with raises(UsageError, "SystemExit: 3"):
        reglue.make(f"{__name__}:Never")


@ITSELF
def test_other_slots_play_on(what: str, cause: str) -> None:
    options = {"environment_args": {"what": what, "only": 2}}
    result = play(Does, num_episodes=4, slots=4, raise_faults=False, **options)
    assert [fault.detail for fault in result.faults] == [cause]
    assert result.coverage.cells_completed == 3


@ITSELF
def test_an_agent_that_raises_it_by_itself_is_at_fault(what: str, cause: str) -> None:
    with raises(AgentFault, cause):
        play(agent=DoesInTurn(what), workers=0)


@ITSELF
def test_an_environment_of_all_slots_is_at_fault(what: str, cause: str) -> None:
    class All(reglue.Environment):
        def env_init(self, slots: int) -> reglue.TaskSpec:
            return Corridor(solved={"a": [1]}).spec.with_slots(slots)

        def env_start(self, cells: Any) -> Any:
            ACTS[what]()

        def env_step(self, actions: Any, slots: Any) -> Any:
            raise AssertionError

    with raises(EnvironmentFault, cause):
        play(All())


def test_in_another_thread_nobody_presses() -> None:
    played: list[BaseException] = []

    def evaluate() -> None:
        try:
            play(Does("raises_it"))
        except BaseException as error:  # noqa: BLE001 - of whatever kind
            played.append(error)

    thread = threading.Thread(target=evaluate)
    thread.start()
    thread.join(PATIENCE_S)
    assert [type(error) for error in played] == [EnvironmentFault]


# Environments that a program steps.


def step_often(env: Any, times: int = 3) -> None:
    env.reset()
    for _ in range(times):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("make", [reglue.make, reglue.make_vec])
def test_a_stepped_environment_closes_and_raises(make: Any) -> None:
    env, before = make(NAMED), Does.closed
    with nothing_left(), pytest.raises(KeyboardInterrupt):
        step_often(env)
    assert Does.closed > before
    with raises(SessionLost, "KeyboardInterrupt"):
        env.step(env.action_space.sample())


def step_until_pressed(env: Any) -> None:
    env.reset()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while True:
            env.step(env.action_space.sample())
    finally:
        env.close()


def test_a_stepped_environment_ends_its_workers() -> None:
    before = signal.signal(signal.SIGALRM, lambda *_: press())
    try:
        with nothing_left(), pytest.raises(KeyboardInterrupt):
            step_until_pressed(reglue.make_vec("gymnasium:CartPole-v1", num_envs=2, workers=1))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_stepped_environment_that_leaves_is_at_fault() -> None:
    env = reglue.make_vec(NAMED, environment_args={"what": "leaves"})
    with raises(EnvironmentFault, "SystemExit: 3") as raised:
        step_often(env)
    [note] = raised.value.__notes__
    assert "in leaves\n" in note  # the environment's own traceback
