"""RL-Glue for Python programs: an agent, an environment, and the RL_* routines."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

# NumPy loads it when an environment first draws, and loading swallows a Ctrl-C: so before.
import numpy.random  # noqa: F401

from env_adapters.given_environment import given_environment
from env_adapters.given_suite import given_suite
from env_adapters.suites import suite_name
from glue_server.environment.environment_port import EnvironmentPort, LocalEnvironmentPort
from glue_server.environment.workers import WorkersPort
from glue_server.peers.hosts import (
    AgentPeer,
    ListenOptions,
    ObjectPeer,
    Program,
    ServedAgent,
    ServedEnvironment,
    as_arguments,
    join_command,
)
from glue_server.processes.interrupts import uninterrupted
from glue_server.routines.secret import check_secret
from glue_server.routines.state_machine import StateMachine
from glue_server.timeouts import Timeouts
from reglue.environments.environment import Environment
from reglue.errors import AgentFault, BadAgentReply, BadArgument, UsageError
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import Answer, ExperimentCall
from reglue.net.join_string import Transport

_LOG = "agent.log"


class Glue(Routines):
    """Joins an agent and an environment. A context manager that closes both.

    with Glue(environment="mountain-car", agent="sarsa.py:Sarsa") as rl:
        rl.init()
        rl.episode(10_000)
        print(rl.num_steps(), rl.return_())

    Args:
        environment: A name (see env_adapters.suites), a suite of worlds, a `reglue.Environment`,
            an object of `gymnasium.Env` (which plays in one slot) or `VectorEnv`, one in JAX, or a
            class or function that makes one. It plays in this process. Or an address.
        agent: An object, which plays in this process; a name as for `reglue join`, which is
            started in a separate process; or an address.
        slots: The number of episodes at once.
        workers: Share the slots among this many processes, at most one for each slot. The
            environment must then be a name, or a class or function that other processes can
            import, and `init` raises an error if it cannot be built.
        seed: The seed of episodes and of the agent's start seeds.
        task: The task to play; by default the environment's first.
        variant: The variant of the task.
        environment_args: Keywords for an environment that is named, a class or a function.
        agent_args: Keywords for an agent that is named.
        agent_log: The file for the output of a started agent. Its fault quotes the last lines.
        token: What a peer at an address must show to join.
        secret: Keys all seeds, which otherwise follow from `seed` alone: give one of 16
            characters or more for strangers' agents. With a secret each glue draws its own start
            seeds for the agent.
        connect_timeout_s: How long to wait for a peer to join.
        transport: How peers connect, see GlueServer. Peers on this host use a Unix socket.
        timeouts: How long calls may take.
        announce: Receives a line for people that says how a peer joins; by default stderr.

    At an address, `host:port`, the glue listens for a peer.

    Entering raises UsageError for a peer that cannot be made, and AgentFault or EnvironmentFault
    for one that does not join.
    """

    def __init__(  # noqa: PLR0913 - all that a program may say of its peers
        self,
        *,
        environment: object,
        agent: object,
        slots: int = 1,
        workers: int = 0,
        seed: int = 0,
        task: str = "",
        variant: int = 0,
        environment_args: Mapping[str, Any] | None = None,
        agent_args: Mapping[str, Any] | None = None,
        agent_log: str | os.PathLike[str] | None = None,
        token: str | None = None,
        secret: str | None = None,
        connect_timeout_s: float = 60.0,
        transport: Transport = "auto",
        timeouts: Timeouts | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(slots=slots, seed=seed, task=task, variant=variant)
        self._environment = environment
        if workers < 0:
            raise BadArgument("workers", got=workers, wanted="0 (none) or more")
        self._workers = workers
        self._environment_args = dict(environment_args or {})
        self._agent = agent
        self._agent_args = dict(agent_args or {})
        self._agent_log = None if agent_log is None else Path(agent_log).absolute()
        self._token = token
        check_secret(secret)
        self._secret = secret
        self._connect_timeout_s = connect_timeout_s
        self._transport = transport
        self._timeouts = timeouts or Timeouts()
        self._announce = announce or _to_stderr
        self._closing = ExitStack()
        self._farewell = "the program is over, thank you"
        self._host: AgentPeer | None = None
        self._machine: StateMachine | None = None

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._farewell = f"the program ended early: {kind.__name__}"
        self.close()

    def close(self) -> None:
        """Close both sides, and end started processes. Ctrl-C waits until that is done."""
        with uninterrupted(then_raise=False):
            self._machine = None
            self._closing.close()

    def _call(self, call: ExperimentCall) -> Answer:
        if self._machine is None or self._host is None:
            raise UsageError("this glue is not open; write `with Glue(…) as rl:`")
        try:
            return self._machine.run(call)
        except BadAgentReply:
            raise
        except AgentFault as fault:
            if (explained := self._host.explain(fault)) == str(fault):
                raise
            raise type(fault)(explained) from fault

    def _open(self) -> None:
        with uninterrupted():  # or a program might be left behind
            self._host = host = self._make_host()
            self._closing.callback(lambda: host.close(self._farewell))
        environment = self._environment_port()  # while the agent's program starts
        self._machine = StateMachine(
            environment, host.port(), timeouts=self._timeouts, secret=self._secret
        )

    def _make_host(self) -> AgentPeer:
        if not isinstance(self._agent, str):
            _check_no_args("agent", self._agent_args)
            return ObjectPeer(self._agent)
        if is_address(self._agent):
            _check_no_args("agent", self._agent_args)
            return ServedAgent(self._listen_options(self._agent), announce=self._announce)
        folder = self._closing.enter_context(tempfile.TemporaryDirectory(prefix="reglue-"))
        log_file = self._agent_log or Path(folder, _LOG)
        command = join_command(self._agent, as_arguments(self._agent_args))
        program = Program(command, log_file, str(Path.cwd()), is_ours=True)
        return ServedAgent(self._listen_options(), program)

    def _environment_port(self) -> EnvironmentPort:
        named, arguments = self._environment, self._environment_args
        if isinstance(named, str) and is_address(named):
            _check_no_args("environment", arguments)
            self._check_no_workers("an environment that dials in")
            host = ServedEnvironment(self._listen_options(named), announce=self._announce)
            self._closing.callback(lambda: host.close(self._farewell))
            return host.port()
        port: EnvironmentPort
        if self._workers:
            if isinstance(named, str):
                name, suite = named, suite_name(named, arguments)
            else:
                name, suite = "", given_suite(named, arguments)
            timeout_s = self._timeouts.environment_s
            port = WorkersPort(suite, workers=self._workers, name=name, timeout_s=timeout_s)
        else:
            port = LocalEnvironmentPort(*_local(named, arguments))
        self._closing.callback(lambda: port.close(self._farewell))
        return port

    def _check_no_workers(self, what: str) -> None:
        if self._workers:
            raise UsageError(
                "workers", got=f"{self._workers} for {what}", wanted="an environment's name"
            )

    def _listen_options(self, address: str = "127.0.0.1:0") -> ListenOptions:
        return ListenOptions(
            address,
            token=self._token,
            timeout_s=self._connect_timeout_s,
            transport=self._transport,
        )


def is_address(name: str) -> bool:
    """Whether a name is an address, `host:port`, at which a peer connects."""
    return re.fullmatch(r"[^\s/]+:[0-9]{1,5}", name) is not None


def _local(environment: object, arguments: Mapping[str, Any]) -> tuple[Environment, str]:
    """An environment for this process, and its name."""
    if isinstance(environment, str):
        return suite_name(environment, arguments).environment(), environment
    return given_environment("environment", environment, arguments, name="gymnasium:CartPole-v1")


def _check_no_args(what: str, arguments: Mapping[str, Any]) -> None:
    if arguments:
        raise UsageError(
            f"got {what}_args {dict(arguments)}: they are for an {what} that is named and made here"
        )


def _to_stderr(words: str) -> None:
    sys.stderr.write(f"{words}\n")
