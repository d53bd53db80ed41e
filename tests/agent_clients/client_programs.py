"""Programs of the clients in other languages, built when a test wants them, and
their peers.
"""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from reglue.client import connect
from reglue.environments.slot_worlds import Worlds
from reglue.experiments.experiment import Experiment
from reglue.messages.environment_messages import EnvironmentInit, EnvironmentReady
from reglue_bench import evaluate
from reglue_bench.results.result import Result
from tests.glue_server.hubs import a_hub
from tests.glue_server.playing import SOLVED, Follower
from tests.leftovers import nothing_left
from tests.reglue_bench.remote import Joins
from tests.worlds import Corridor

ROOT = Path(__file__).parents[2]

TAKES_S = 600.0
LEAVES_S = 15.0
PATIENCE_S = 60.0


@functools.cache
def built(client: str, target: str, path: str) -> Path:
    """The file at `path` of the client's build, brought up to date at the first call of a process.
    One process at a time builds.
    """
    build = ROOT / "build" / client
    build.mkdir(parents=True, exist_ok=True)
    options = ["-G", "Ninja", "-DREGLUE_STRICT=ON"]
    if client == "c":  # is made of the C++ client's library
        options += [f"-Dreglue_DIR={built('cpp', 'reglue', 'libreglue++.a').parent}"]
    with (build / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (build / "CMakeCache.txt").exists():
            sources = ROOT / "agent_clients" / client
            run("cmake", "-S", str(sources), "-B", str(build), *options)
        run("cmake", "--build", str(build), "--target", target)
    return build / path


LANGUAGES = ("python", "c", "cpp", "julia", "typescript")
TYPESCRIPT = ROOT / "agent_clients/typescript"


def typescript(path: str) -> Path:
    """A program of the TypeScript client's build, such as `examples/random.js`. Fail the test if
    there is none, or the sources are newer.
    """
    program = TYPESCRIPT / "dist" / path
    if not program.exists():
        pytest.fail(f"{program} is not built: run `make typescript`", pytrace=False)
    sources = (
        source
        for folder in ("src", "conformance", "examples", "tests")
        for source in (TYPESCRIPT / folder).rglob("*.ts")
        if "gen" not in source.parts
    )
    newest = max(sources, key=lambda source: source.stat().st_mtime)
    if newest.stat().st_mtime > program.stat().st_mtime:
        pytest.fail(f"{newest} is newer than its build: run `make typescript`", pytrace=False)
    return program


JULIA = (
    *("julia", "--startup-file=no", "-O1"),
    f"--project={ROOT / 'agent_clients/julia'}",
)


def conformance_program(language: str, role: str) -> list[str]:
    """The command of that language's conformance program; Julia's needs `libreglue`."""
    match language:
        case "python" if role == "experiment":
            return [sys.executable, "-m", "reglue.conformance.experiment_under_test"]
        case "python":
            peer = f"reglue.conformance:Conformance{role.capitalize()}"
            return [sys.executable, "-m", "reglue", "join", peer]
        case "c":
            return [str(built("c", f"conformance_{role}_c", f"conformance_{role}_c"))]
        case "cpp":
            name = f"conformance_{role}"
            return [str(built("cpp", name, f"conformance/{name}"))]
        case "julia":
            return [*JULIA, str(ROOT / f"agent_clients/julia/conformance/{role}.jl")]
        case "typescript":
            return ["node", str(typescript(f"conformance/programs/{role}.js"))]
        case _:
            pytest.fail(f"got language {language!r}, wanted one of {LANGUAGES}")


@contextmanager
def started(
    command: Sequence[str], address: str, token: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """The program, which dials there, with pipes to it and from its stderr. It is gone at the
    end.
    """
    where = {"REGLUE_ADDRESS": address, "REGLUE_TOKEN": token}
    with subprocess.Popen(
        command,
        env=os.environ | where | environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def playing(program: Path, address: str, token: str = "") -> Iterator[None]:
    """The program, which dials there. It has left at the end, or is killed."""
    where = {"REGLUE_ADDRESS": address, "REGLUE_TOKEN": token}
    with subprocess.Popen([str(program)], env=os.environ | where) as process:
        try:
            yield
            process.wait(LEAVES_S)
        finally:
            process.kill()


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a command; return its output. Raise AssertionError with all of it if it fails."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TAKES_S,
        check=False,
        env=os.environ | (environment or {}),
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def environment_calls(program: Path) -> Iterator[Callable[[Any], Any]]:
    """A function that sends a call to an environment of two slots and returns the answer."""
    with (
        nothing_left(),
        GlueServer(places={"environment": 1}) as server,
        playing(program, server.address, server.token),
    ):
        port: Any = server.next("environment", PATIENCE_S)

        def ask(call: Any) -> Any:
            port.send(call)
            return port.receive(PATIENCE_S)

        ready = ask(EnvironmentInit(2))
        assert isinstance(ready, EnvironmentReady)
        assert (ready.restores, ready.seeds, ready.standardizes) == (True, True, True)
        yield ask
        port.close("that was all")


def online(
    start: Callable[[str], AbstractContextManager[object]], *, agent: str, **settings: Any
) -> Result:
    """A whole run of an agent in Python, in an environment that `start` starts at an address."""
    with nothing_left(), ExitStack() as programs:

        def dial(where: str) -> None:
            programs.enter_context(start(where))

        settings |= {"runs": 1, "connect_timeout": PATIENCE_S}
        result = evaluate("online:wait", agent=agent, watcher=Joins(dial), **settings)
    assert result.complete
    return result


def peers(pool: ThreadPoolExecutor, server: GlueServer) -> list[Future[str]]:
    """An agent and an environment, which join."""
    there = {"agent": Follower(), "environment": Worlds(Corridor(solved=SOLVED))}
    return [
        pool.submit(connect, each, server.address, server.tokens[role])
        for role, each in there.items()
    ]


def measures_as_python(*command: str) -> None:
    """Raise AssertionError unless RL-Glue's benchmark program measures what it does in Python.

    `command` gets the numbers of runs and of episodes in each as arguments.
    """
    runs, episodes = 3, 4
    with ThreadPoolExecutor(4) as pool, a_hub() as (server, _):
        left = peers(pool, server)
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        measured = float(run(*command, str(runs), str(episodes), environment=where))
        left += peers(pool, server)
        with Experiment(server.address, server.tokens["experiment"]) as rl:
            sums = []
            for seed in range(runs):
                rl.init(seed=seed)
                returns = [(rl.episode(10_000_000), rl.return_())[1] for _ in range(episodes)]
                rl.cleanup()
                sums.append(sum(returns) / episodes)
        for each in left:
            assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert measured == pytest.approx(sum(sums) / runs, rel=1e-15)
    assert measured != 0
