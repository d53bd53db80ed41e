"""Vector environments that a loop steps: Reglue's, over a Unix socket and here, and others'.

`python -m speed.contenders.stepped_contender serve KIND SLOTS` is the glue: it plays training
episodes without end with the agent that connects.
"""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from env_adapters import Cell, SuiteName
from env_adapters.suites import suite_name
from glue_server import AgentPort, EpisodeRunner, NextOrder, Order, Timeouts
from glue_server.environment.replaying import NO_SLOTS
from glue_server.rpc import GlueServer
from reglue.errors import AgentFault
from reglue.gymnasium import make_vec
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Play, Played, Slots
from reglue.spaces import space_of
from reglue.spec import Arrays
from reglue_bench.benchmark.training_stream import training_stream
from reglue_bench.engines.run_environments import make_environment
from speed.contenders.processor_time import processor_s
from speed.launches import Helper, serve

_MODE = gymnasium.vector.AutoresetMode.SAME_STEP
_JOIN_S = 120.0
SUITE = "speed.light:Suite"
_NEXT_STEP = gymnasium.vector.AutoresetMode.NEXT_STEP  # Gymnasium's default
_BENCHMARKS = {
    "light": (SUITE, _MODE),
    "CartPole-v1": ("gymnasium:CartPole-v1", _NEXT_STEP),
    "MountainCar-v0": ("gymnasium:MountainCar-v0", _NEXT_STEP),
}


def glue(kind: str, slots: int) -> None:
    """Serve one agent; `kind` is light or a benchmark of Meta-World."""
    is_metaworld = kind not in _BENCHMARKS
    suite, order = _training(kind, slots) if is_metaworld else _endless(kind)
    workers = None if is_metaworld else 0
    with GlueServer() as server:
        print(server.address, server.token, flush=True)
        port: AgentPort | None = server.next("agent", _JOIN_S)
        assert port is not None, f"no agent within {_JOIN_S:g} s"
        environment = make_environment(suite, slots, workers=workers)
        runner = EpisodeRunner(port, environment, timeouts=Timeouts())
        runner.init()
        with suppress(AgentFault):  # it leaves when it is measured
            for _ in runner.play(order, Phase.TRAIN):
                pass


def _endless(kind: str) -> tuple[SuiteName, NextOrder]:
    name, _ = _BENCHMARKS[kind]
    suite, numbers = suite_name(name), count()
    task = next(iter(suite.build().variants))

    def order(_slot: int) -> Order:
        k = next(numbers)
        return Order(0, k, Cell(task, 0, seed=k, repeat=0, phase=Phase.TRAIN), k)

    return suite, order


def _training(benchmark: str, slots: int) -> tuple[SuiteName, NextOrder]:
    stream, begun = training_stream(benchmark, slots=slots), [0] * slots

    def order(slot: int) -> Order:
        begun[slot] += 1
        return stream.order(slot, begun[slot] - 1)

    return stream.suite, order


def steps_of(envs: Any, *others: int) -> None:
    """Step so often, with random actions that were drawn before; `others` help: process ids."""
    envs.action_space.seed(0)
    envs.reset()

    def measure(steps: int) -> dict[str, float]:
        actions = [envs.action_space.sample() for _ in range(min(steps, 1000))]
        began, before = time.perf_counter(), processor_s(*others)
        for step in range(steps):
            envs.step(actions[step % len(actions)])
        return {
            "seconds": time.perf_counter() - began,
            "processor_s": processor_s(*others) - before,
            "steps": steps * envs.num_envs,
        }

    serve(measure)
    envs.close()


class ByHand:
    """Gymnasium's environments whose episodes have seeds of their own, and are counted.

    The next call begins the next episode. Actions are checked as an array; nothing is recorded,
    timed or caught: `make_vec` cannot cost less than this.
    """

    def __init__(self, name: str, slots: int) -> None:
        self.num_envs = slots
        self._envs = [gymnasium.make(name) for _ in range(slots)]
        one = self._envs[0]
        self.action_space: Any = gymnasium.vector.utils.batch_space(one.action_space, slots)
        self._seen = np.zeros((slots, *(one.observation_space.shape or ())), np.float32)
        self._seeds = count()
        self._over = [False] * slots
        self._returns, self._steps = np.zeros(slots), np.zeros(slots, np.int64)

    def reset(self) -> object:
        """Begin everywhere."""
        for slot in range(self.num_envs):
            self._begin(slot)
        return self._seen.copy(), {}

    def step(self, actions: npt.NDArray[np.int64]) -> object:
        """One step of each, or its next episode's first observation."""
        if actions.dtype != np.int64 or not ((actions >= 0) & (actions < 2)).all():
            raise ValueError(actions)
        rewards = np.zeros(self.num_envs)
        ends = np.zeros((2, self.num_envs), np.bool_)
        infos = {}
        for slot, action in enumerate(actions.tolist()):
            if self._over[slot]:
                self._begin(slot)
                continue
            self._seen[slot], reward, *(ends[:, slot]), _ = self._envs[slot].step(action)
            rewards[slot] = reward
        self._returns += rewards
        self._steps += 1
        over = ends[0] | ends[1]
        if over.any():
            infos["episode"] = {"r": self._returns.copy(), "l": self._steps.copy(), "_r": over}
        self._over = over.tolist()
        return self._seen.copy(), rewards, *ends, infos

    def close(self) -> None:
        """Close them all."""
        for env in self._envs:
            env.close()

    def _begin(self, slot: int) -> None:
        label = f"reglue cell 0 {next(self._seeds)}".encode()
        seed = int.from_bytes(hashlib.sha256(label).digest()[:4], "little")
        self._seen[slot], _ = self._envs[slot].reset(seed=seed)
        self._over[slot], self._returns[slot], self._steps[slot] = False, 0.0, -1


class BareWorlds:
    """A benchmark's worlds without session, loop, record or another's checks of actions.

    An episode that ends begins again in the next call. What `make_vec` adds is left out: no
    glue over these worlds can cost less than this.
    """

    def __init__(self, name: str, slots: int) -> None:
        self.num_envs = slots
        suite, order = _endless(name)
        self._order = order
        self._worlds = suite.environment()
        self._worlds.spec = self._worlds.env_init(slots)
        action = self._worlds.spec.actions[0]
        self._action = action.name
        self.action_space: Any = gymnasium.vector.utils.batch_space(
            space_of(self._worlds.spec.actions), slots
        )

    def reset(self) -> object:
        """Begin everywhere."""
        return self._played(NO_SLOTS, {}, range(self.num_envs))

    def step(self, actions: npt.NDArray[np.int64]) -> object:
        """One step of each, or its next episode's first observation."""
        goes_on = ~self._over
        slots = goes_on.nonzero()[0].astype(np.uint32)
        return self._played(slots, {self._action: actions[slots]}, (~goes_on).nonzero()[0].tolist())

    def close(self) -> None:
        """Close them all."""
        self._worlds.env_cleanup()

    def _played(self, slots: Slots, actions: Arrays, starts: Sequence[int]) -> Played:
        cells = {}
        for slot in starts:
            order = self._order(slot)
            assert order is not None
            cells[slot] = order.cell
        played = self._worlds.play(Play(slots, actions, cells))
        self._over = np.zeros(self.num_envs, np.bool_)
        self._over[slots] = played.terminated | played.truncated
        return played


def main(kind: str, where: str, slots: int) -> None:
    """`where` is socket, here, async (Meta-World's), sync (Gymnasium's), hand or worlds."""
    if where == "async":
        warnings.simplefilter("ignore")
        import metaworld  # noqa: F401 - registers its environments

        steps_of(
            gymnasium.make_vec(
                f"Meta-World/{kind}", vector_strategy="async", seed=0, autoreset_mode=_MODE
            )
        )
        return
    if where == "sync":
        steps_of(gymnasium.make_vec(kind, num_envs=slots, vectorization_mode="sync"))
        return
    if where == "hand":
        steps_of(ByHand(kind, slots))
        return
    if where == "worlds":
        steps_of(BareWorlds(kind, slots))
        return
    if where == "here":
        benchmark, mode = _BENCHMARKS.get(kind, (kind, _MODE))
        steps_of(make_vec(benchmark, num_envs=slots, autoreset_mode=mode))
        return
    with Helper("stepped_contender", "serve", kind, str(slots)) as helper:
        address, token = helper.line().split()
        _, mode = _BENCHMARKS.get(kind, (kind, _MODE))
        steps_of(
            make_vec(address, token=token, num_envs=slots, autoreset_mode=mode, transport="unix"),
            helper.pid,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", kind, slots]:
            glue(kind, int(slots))
        case [kind, where, slots]:
            main(kind, where, int(slots))
