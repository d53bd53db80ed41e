"""A benchmark program's end of a session: RL-Glue's routines over a network."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reglue.errors import BadArgument
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import ExperimentCall
from reglue.net.join_string import Transport, join_string

if TYPE_CHECKING:
    from reglue.net.experiment_session import ExperimentSession


class Experiment(Routines):
    """RL-Glue's routines, over a glue's agent and environment.

    ```python
    with reglue.Experiment("127.0.0.1:4096", "TOKEN") as rl:
        rl.init()
        rl.episode(10_000)
        print(rl.num_steps(), rl.return_())
        rl.cleanup()
    ```
    `task` and `variant` choose what the environment plays: by default its first task.
    `address`, `token`, `ca`, `tls_name` and `transport` are as in `connect`. Routines wait until
    the glue has an agent and an environment, at most `timeout_s` seconds. If the connection breaks
    it connects again, as long as the glue allows, and every routine is carried out once.

    A `with` statement also leaves the session after Ctrl-C and SIGTERM, which end a script with
    exit codes 130 and 143; `handle_signals` is as in `connect`.

    Raises Unreachable, Refused, UsageError (no address, no `timeout_s` above 0, a negative
    `connect_timeout_s`), and SessionLost from routines.
    """

    def __init__(  # noqa: PLR0913 - as `connect`
        self,
        address: str | None = None,
        token: str | None = None,
        *,
        ca: str | Path | bytes | None = None,
        tls_name: str | None = None,
        slots: int = 1,
        seed: int = 0,
        task: str = "",
        variant: int = 0,
        name: str = "experiment",
        connect_timeout_s: float = 60.0,
        timeout_s: float = 86_400.0,
        transport: Transport = "auto",
        handle_signals: bool = True,
    ) -> None:
        super().__init__(slots=slots, seed=seed, task=task, variant=variant)
        if not timeout_s > 0:
            raise BadArgument(got=f"a timeout of {timeout_s:g} s", wanted="more than 0")
        where = join_string(address, token, ca=ca, tls_name=tls_name)
        from reglue.net.experiment_session import open_experiment_session
        from reglue_signals import signals_exit

        self._signals = signals_exit(handles=handle_signals)
        self._asking: ExperimentSession = open_experiment_session(
            where,
            name,
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
            transport=transport,
        )

    def __enter__(self) -> Self:
        self._signals.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from reglue_signals import interruption

        try:
            self._asking.leave(is_interrupted=interruption(error) is not None)
        finally:
            self._signals.__exit__(kind, error, trace)

    def close(self) -> None:
        """Leave; the glue ends the agent's and the environment's sessions."""
        self._asking.leave()

    def _call(self, call: ExperimentCall) -> object:
        return self._asking.ask(call)
