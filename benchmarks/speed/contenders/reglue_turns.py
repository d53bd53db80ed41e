"""Reglue: a glue with the light environment, and a Python agent in its own process, or agents of
RL-Glue's codec behind the bridge; or a hub.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from typing import cast

from glue_server import Glue, LocalEnvironmentPort, StateMachine, Timeouts
from glue_server.processes.event_loop import EventLoop
from glue_server.rpc import GlueServer
from reglue import Experiment, Worlds
from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import Answer, ExperimentCall
from reglue.net.join_string import Transport
from speed.launches import serve
from speed.light import Suite

AGENT = "speed.light:Still"
LEGACY = {"cmd": f"{sys.executable} -m speed.contenders.rl_glue agent"}


def turns(
    transport: Transport, shape: str, slots: int, *, agent: object = AGENT, **agent_args: str
) -> None:
    """`transport` as of a Glue; `shape` is light or image."""
    with Glue(
        environment=Suite(image=shape == "image"),
        agent=agent,
        agent_args=agent_args,
        slots=slots,
        transport=transport,
    ) as rl:
        _serve(rl, slots)


def bridge(where: str, slots: int) -> None:
    """Agents of RL-Glue's codec; the bridge has a process, or is `here`."""
    if where == "process":
        name = f"{LegacyAgent.__module__}:{LegacyAgent.__name__}"
        turns("auto", "light", slots, agent=name, **LEGACY)
    else:
        with closing(LegacyAgent(**LEGACY)) as agent:
            turns("auto", "light", slots, agent=agent)


def hub(transport: Transport) -> None:
    """Hub, agent, environment and program, which is this one, in a process each."""
    with ExitStack() as stack:
        command = ["glue", "--listen", "127.0.0.1:0", "--transport", transport, "--runs", "1"]
        glue = _started(stack, *command)
        assert glue.stdout is not None
        lines = (line.split() for line in iter(glue.stdout.readline, ""))
        where = {parts[0]: parts[1].strip("'") for parts in islice(lines, 1, 4)}
        for name, role in ((AGENT, "agent"), ("speed.light:Suite", "environment")):
            _started(stack, "join", name, "--address", where[role])
        rl = stack.enter_context(Experiment(where["experiment"]))
        _serve(rl, 1)


def _started(stack: ExitStack, *arguments: str) -> subprocess.Popen[str]:
    """`reglue …`, killed at the end."""
    command = [sys.executable, "-m", "reglue", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def _serve(rl: Routines, slots: int) -> None:
    rl.init()

    def measure(steps: int, routine: str = "step") -> dict[str, float]:
        """Seconds for so many steps of every slot."""
        play: Callable[[], object] = {
            "step": lambda: [rl.step() for _ in range(steps)],
            "episode": lambda: rl.episode(steps),
        }[routine]
        rl.start()
        rl.step()
        began = time.perf_counter()
        play()
        return {"seconds": time.perf_counter() - began, "steps": steps * slots}

    serve(measure)


_JOIN_S = 120.0
_LOOP = EventLoop("runs")
_JOINING = """
import sys, reglue
from speed.light import Still
reglue.connect(Still(), sys.argv[1], sys.argv[2])
"""


class Run(Routines):
    """One agent's RL_* routines, in this process."""

    def __init__(self, server: GlueServer) -> None:
        super().__init__(slots=1, seed=0)
        agent = server.next("agent", _JOIN_S)
        assert agent is not None, f"no agent within {_JOIN_S:g} s"
        self.agent = agent
        environment = LocalEnvironmentPort(Worlds(Suite()), "light")
        self._machine = StateMachine(environment, agent, timeouts=Timeouts())

    def _call(self, call: ExperimentCall) -> Answer:
        return self._machine.run(call)


def agents(transport: Transport, most: int) -> None:
    """Up to `most` agents."""
    with ExitStack() as stack:
        server = GlueServer(places={"agent": most}, transport=transport)
        stack.enter_context(server)
        command = [sys.executable, "-c", _JOINING, server.address, server.token]
        agents = [subprocess.Popen(command) for _ in range(most)]
        for agent in agents:
            stack.callback(agent.kill)
        runs = [Run(server) for _ in agents]
        for run in runs:
            run.init()
            run.start()
        serve(lambda count, seconds: _measure(runs[:count], seconds))
        for run in runs:
            run.agent.close("it is over")
        for agent in agents:
            agent.wait()


def _measure(runs: list[Run], seconds: float) -> dict[str, float]:
    """Turns of all in so many seconds."""
    taken = [0] * len(runs)
    over = threading.Event()

    def play(place: int) -> None:
        while not over.is_set():
            runs[place].step()
            taken[place] += 1

    began = time.perf_counter()
    tasks = [_LOOP.begin(partial(play, place)) for place in range(len(runs))]
    time.sleep(seconds)
    steps, passed_s = sum(taken), time.perf_counter() - began
    over.set()
    for task in tasks:
        task.join()
    return {"steps": steps, "seconds": passed_s}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hub", transport]:
            hub(cast(Transport, transport))
        case ["rl-glue", where, slots]:
            bridge(where, int(slots))
        case ["agents", transport, most]:
            agents(cast(Transport, transport), int(most))
        case [transport, shape, slots]:
            turns(cast(Transport, transport), shape, int(slots))
