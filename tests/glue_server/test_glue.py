"""Glue: RL-Glue in a Python program, with partners of every kind, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.suites import suite_name
from glue_server import Glue, Timeouts
from reglue import Agent, connect
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadReply,
    EnvironmentFault,
    NotAnAgent,
    NotAnEnvironment,
    OutOfDomain,
    UnknownKey,
    UnknownName,
    UsageError,
)
from reglue.spec import Arrays, Discrete
from tests.glue_server.lab import Actor, Lab
from tests.glue_server.playing import SOLVED, Follower
from tests.worlds import Corridor

PATIENCE_S = 60.0

DRIFTER = '''
"""An agent that sums what it sees, in words of its own."""

import reglue


class Drifter(reglue.Agent):
    def __init__(self, word="hm"):
        self.word = word

    def agent_init(self, spec):
        self.most = spec.actions[0].domain.n

    def act(self, observations):
        first = next(iter(observations.values()))
        return [int(abs(row).sum() * 1000) % self.most for row in first.reshape(len(first), -1)]

    def agent_start(self, observations, starts):
        return self.act(observations)

    def agent_step(self, rewards, observations, steps):
        return self.act(observations)

    def agent_message(self, message):
        return f"{self.word}: {message}"


class Leaver(Drifter):
    def agent_step(self, rewards, observations, steps):
        print("out of coffee", flush=True)
        raise SystemExit(3)


class Sleeper(Drifter):
    def agent_step(self, rewards, observations, steps):
        import threading

        threading.Event().wait()
'''


class Drifter(Agent):
    """As in the file."""

    def _act(self, observations: Arrays) -> list[int]:
        domain = self.spec.actions[0].domain
        assert isinstance(domain, Discrete)
        first = next(iter(observations.values()))
        sums = np.abs(first.reshape(len(first), -1)).sum(axis=1)
        return [int(each * 1000) % domain.n for each in sums]

    def agent_start(self, observations: Arrays, starts: Any) -> list[int]:
        return self._act(observations)

    def agent_step(self, rewards: Any, observations: Arrays, steps: Any) -> list[int]:
        return self._act(observations)


@pytest.fixture
def drifter(tmp_path: Path) -> str:
    (tmp_path / "drifter.py").write_text(DRIFTER, encoding="utf-8")
    return f"{tmp_path}/drifter.py"


def rewards_of(rl: Glue, steps: int) -> list[float]:
    rl.init()
    rl.start()
    return [rl.step().rewards.item() for _ in range(steps)]


# Programs.


def test_the_concepts_pages_benchmark_runs_as_written() -> None:
    """RL_benchmark: 100 runs of 1000 episodes there, few here."""
    with Glue(environment=Corridor(solved={"walk": [0]}), agent=Follower()) as rl:
        performance = 0.0
        for _run in range(3):
            rl.init()
            total = 0.0
            for _episode in range(4):
                rl.episode(10000000)
                total = total + rl.return_(1.0)
            performance = performance + total / 4.0
            rl.cleanup()
        assert 4.0 < performance / 3.0 < 6.0  # five steps of 1, and a tenth of its actions


def test_another_discount_is_refused() -> None:
    with (
        Glue(environment=Lab(), agent=Actor()) as rl,
        pytest.raises(UsageError, match="discount inside the environment"),
    ):
        rl.return_(0.9)


def test_a_trajectory_is_rl_glue_1s_list() -> None:
    """o0, a0, r1, o1, a1, …, rT: what RL_episode of 1.0 returns, less the terminal observation."""
    with Glue(environment=Corridor(solved={"walk": [0]}, horizon=3), agent=Follower()) as rl:
        rl.init()
        whole = rl.episode_trajectory(10)
        assert whole.observations["observation"][:, 0].tolist() == [0.0, 1.0, 2.0]
        assert (len(whole.actions["action"]), len(whole.rewards)) == (3, 3)
        assert (whole.terminated, whole.truncated) == (False, True)
        cut = rl.episode_trajectory(2)
        assert cut.observations["observation"][:, 0].tolist() == [0.0, 1.0, 2.0]
        assert (len(cut.actions["action"]), len(cut.rewards)) == (3, 2)
        assert (cut.terminated, cut.truncated) == (False, False)


SCRIPT = """
from glue_server import Glue
with Glue(environment="mountain-car", agent="drifter.py:Drifter") as rl:
    rl.init()
    for _ in range(3):
        rl.episode(10)
        print(rl.num_steps(), rl.return_())
    rl.freeze(); rl.cleanup()
"""


def test_a_plain_script_runs_without_a_guard(drifter: str) -> None:
    folder = Path(drifter).parent
    (folder / "benchmark.py").write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "benchmark.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == ["10 -9.0"] * 3


# Agents of every kind.


def test_an_agent_in_a_process_of_its_own_plays_the_same_bits(drifter: str) -> None:
    with Glue(environment="mountain-car", agent=Drifter(), seed=3) as rl:
        alone = rewards_of(rl, 20)
        rl.start()
        state = rl.step().observations["observation"].tobytes()
    with Glue(environment="mountain-car", agent=f"{drifter}:Drifter", seed=3) as rl:
        assert rewards_of(rl, 20) == alone
        rl.start()
        assert rl.step().observations["observation"].tobytes() == state


def test_arguments_reach_an_agent_as_what_they_are(drifter: str) -> None:
    with Glue(environment=Lab(), agent=f"{drifter}:Drifter", agent_args={"word": "3"}) as rl:
        assert rl.agent_message("hi") == "3: hi"


def test_an_agent_that_dials_in_is_waited_for() -> None:
    heard: list[str] = []
    with ThreadPoolExecutor(1) as threads:

        def announce(words: str) -> None:
            heard.append(words)
            address = words.split()[-3]
            threads.submit(connect, Actor(), address, "secret")

        with Glue(environment=Lab(), agent="127.0.0.1:0", token="secret", announce=announce) as rl:
            rl.init()
            assert rl.start().actions["push"].tolist() == [[0.5]]
    assert "reglue join my_agent.py:MyAgent --address 127.0.0.1:" in heard[0]


def test_an_environment_that_dials_in_is_waited_for() -> None:
    with ThreadPoolExecutor(1) as threads:

        def announce(words: str) -> None:
            address = words.split()[-3]
            threads.submit(connect, Lab(), address, "secret")

        with Glue(
            environment="127.0.0.1:0", agent=Actor(), token="secret", announce=announce
        ) as rl:
            rl.init()
            rl.start()
            assert rl.step().rewards.tolist() == [0.5]


def test_an_object_written_for_meta_world_plays() -> None:
    class Upstream:
        def eval_action(self, observations: Any) -> Any:
            return np.zeros((len(observations), 1))

        def reset(self, env_mask: Any) -> None:
            pass

    with Glue(environment=Corridor(solved=SOLVED), agent=Upstream()) as rl:
        rl.init()
        assert rl.episode() is True


# Environments of every kind.


@pytest.mark.parametrize(
    "make", [lambda: "mountain-car", lambda: suite_name("mountain-car").build()]
)
def test_an_environment_is_a_name_or_a_suite(make: Callable[[], object]) -> None:
    with Glue(environment=make(), agent=Drifter()) as rl:
        assert rewards_of(rl, 3) == [-1.0, -1.0, -1.0]


def test_arguments_reach_an_environment() -> None:
    arguments = {"solved": {"walk": [0]}, "horizon": 2}
    with Glue(
        environment="tests.worlds:Corridor", agent=Follower(), environment_args=arguments
    ) as rl:
        assert rl.init().horizon == 2


def test_slots_are_as_many_as_were_asked_for() -> None:
    with Glue(environment=Lab(), agent=Actor(), slots=4) as rl:
        assert rl.init().slots == 4
        assert rl.start().actions["push"].shape == (4, 1)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(
    "name", ["gridworld", "mountain-car", "access-control", "cart-pole", "acrobot"]
)
def test_a_state_goes_on_to_the_bit_in_another_slot_and_run(name: str, slots: int) -> None:
    """Its later observations, rewards and flags, under the same actions."""
    with Glue(environment=name, agent=Drifter(), slots=slots) as rl:
        rl.init()
        rl.episode(4)
        key = rl.get_state(0)
        actions = {name: rows[:1] for name, rows in rl.start().actions.items()}
        rl.set_state(key, 0)
        after = [bits(rl.env_step(actions, [0])) for _ in range(5)]
        rl.init()
        rl.set_state(key, slots - 1)
        assert [bits(rl.env_step(actions, [slots - 1])) for _ in range(5)] == after


def bits(stepped: Any) -> list[Any]:
    observations = [rows.tobytes() for rows in stepped.observations.values()]
    flags = stepped.terminated.item(), stepped.truncated.item(), stepped.success.item()
    return [observations, stepped.rewards.tobytes(), flags]


def test_keys_of_another_glue_are_unknown() -> None:
    with (
        Glue(environment="gridworld", agent=Drifter()) as one,
        Glue(environment="gridworld", agent=Drifter()) as other,
    ):
        for rl in (one, other):
            rl.init()
            rl.start()
        with pytest.raises(UnknownKey, match="one that this glue gave out"):
            other.set_state(one.get_state())


def test_standardized_randomness_is_the_same_whatever_was_played_before() -> None:
    def first(before: int) -> list[Any]:
        with Glue(environment="mountain-car", agent=Drifter(), seed=before) as rl:
            rl.init()
            for _ in range(before):
                rl.start()
            rl.standardize_randomness(7)
            return [bits_of(rl.start()) for _ in range(3)]

    assert first(0) == first(4)


def bits_of(started: Any) -> list[bytes]:
    return [rows.tobytes() for rows in started.observations.values()]


# What cannot be had.


@pytest.mark.parametrize(
    ("partners", "kind", "words"),
    [
        ({"environment": "mountain-cart"}, UnknownName, "did you mean mountain-car"),
        ({"environment": object()}, NotAnEnvironment, "wanted a name, a suite of worlds or"),
        ({"environment": Corridor}, NotAnEnvironment, "got the class Corridor, wanted an object"),
        ({"environment": Lab}, NotAnEnvironment, "got the class Lab, wanted an object of it"),
        (
            {"environment": "gridworld", "environment_args": {"walls": 3}},
            UsageError,
            r"GridWorld takes \(.*'walls'",
        ),
        ({"agent": object()}, NotAnAgent, "derive it from reglue.Agent"),
        ({"agent": Actor}, NotAnAgent, "got the class Actor, wanted an object of it"),
        ({"agent_args": {"a": 1}}, UsageError, "agent_args are for what is named"),
        ({"environment_args": {"a": 1}}, UsageError, "environment_args are for what is named"),
        ({"agent": "random", "agent_args": {"a": {1}}}, UsageError, "must be JSON"),
        ({"agent": "127.0.0.1:99999"}, UsageError, "got address '127.0.0.1:99999'"),
    ],
)
def test_what_cannot_be_had_says_why(
    partners: dict[str, Any], kind: type[Exception], words: str
) -> None:
    whole: dict[str, Any] = {"environment": Lab(), "agent": Actor()} | partners
    glue = Glue(**whole)
    with pytest.raises(kind, match=words), glue:
        pytest.fail("it opened")


@pytest.mark.parametrize("mistake", [{"slots": "a"}, {"seed": "x"}, {"slots": 0}, {"seed": -1}])
def test_slots_and_seeds_that_are_none_are_refused_at_once(mistake: dict[str, Any]) -> None:
    with pytest.raises(OutOfDomain, match="wanted a whole number from"):
        Glue(environment=Lab(), agent=Actor(), **mistake)


def test_an_agent_that_there_is_not_says_which_there_are(drifter: str) -> None:
    with (
        pytest.raises(UsageError, match=r"there is no class Drafter in .*did you mean Drifter"),
        Glue(environment=Lab(), agent=f"{drifter}:Drafter"),
    ):
        pytest.fail("it opened")


def test_nobody_who_comes_is_the_partners_fault() -> None:
    silent: dict[str, Any] = {"connect_timeout_s": 0.1, "announce": lambda words: None}
    with (
        pytest.raises(AgentDisconnected, match=r"no agent joined within 0\.1 s"),
        Glue(environment=Lab(), agent="127.0.0.1:0", **silent),
    ):
        pytest.fail("it opened")
    with (
        pytest.raises(EnvironmentFault, match=r"no environment joined within 0\.1 s"),
        Glue(environment="127.0.0.1:0", agent=Actor(), **silent),
    ):
        pytest.fail("it opened")


def test_a_glue_that_is_not_entered_says_how() -> None:
    glue = Glue(environment=Lab(), agent=Actor())
    with pytest.raises(UsageError, match="write `with Glue"):
        glue.init()
    with glue:
        glue.init()
    with pytest.raises(UsageError, match="write `with Glue"):
        glue.start()


# Ends: see conftest, which looks for what is left.


def test_a_glue_cleans_its_environment_up_if_the_program_has_not() -> None:
    lab = Lab()
    with pytest.raises(ZeroDivisionError):
        fail_in(Glue(environment=lab, agent=Actor()))
    assert lab.calls[-1] == ("cleanup",)
    lab.calls.clear()
    with Glue(environment=lab, agent=Actor()) as rl:
        rl.init()
        rl.cleanup()
    assert lab.calls.count(("cleanup",)) == 1


def fail_in(glue: Glue) -> None:
    """A program that fails in mid-episode."""
    with glue as rl:
        rl.init()
        rl.start()
        raise ZeroDivisionError


def test_a_program_that_fails_leaves_no_process(drifter: str) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in(Glue(environment="gridworld", agent=f"{drifter}:Drifter"))


def test_an_agent_that_leaves_says_its_last_words(drifter: str) -> None:
    with Glue(environment="gridworld", agent=f"{drifter}:Leaver") as rl:
        rl.init()
        rl.start()
        with pytest.raises(AgentFault, match=r"(?s)agent\.log:.*out of coffee"):
            rl.step()
        with pytest.raises(AgentFault):
            rl.start()


def test_an_agents_words_can_be_kept(drifter: str, tmp_path: Path) -> None:
    log = tmp_path / "kept.log"
    with Glue(environment="gridworld", agent=f"{drifter}:Leaver", agent_log=log) as rl:
        rl.init()
        rl.start()
        with pytest.raises(AgentFault):
            rl.step()
    assert "out of coffee" in log.read_text(encoding="utf-8")


def test_an_agent_that_does_not_answer_is_not_waited_for_forever(drifter: str) -> None:
    timeouts = Timeouts(first_step_s=30.0, step_s=0.3)
    with Glue(environment="gridworld", agent=f"{drifter}:Sleeper", timeouts=timeouts) as rl:
        rl.init()
        rl.start()
        with pytest.raises(AgentTimeout, match="did not answer within"):
            rl.step()


def test_a_bad_reply_is_told_as_it_is() -> None:
    actor = Actor()
    with Glue(environment=Lab(), agent=actor) as rl:
        rl.init()
        actor.fault = "nan"
        with pytest.raises(BadReply) as raised:
            rl.start()
    assert raised.value.code == "NOT_FINITE"


INTERRUPTED = """
import os, sys
from glue_server import Glue
with Glue(environment="gridworld", agent="drifter.py:Drifter") as rl:
    rl.init()
    children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    print(*children, flush=True)
    while True:
        rl.episode(1000)
"""


def test_ctrl_c_leaves_nothing_running(drifter: str) -> None:
    folder = Path(drifter).parent
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        agents = [int(pid) for pid in program.stdout.readline().split()]
        assert agents
        descriptors = [os.pidfd_open(pid) for pid in agents]
        os.killpg(program.pid, signal.SIGINT)
        _, words = program.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in words
    for descriptor in descriptors:
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGCONT)
        os.close(descriptor)
