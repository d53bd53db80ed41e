"""Settings of a run: each is a flag, a key of TOML files and a keyword of `evaluate`.

A setting says here, once, its type, its default, and the help and panel of its flag.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from glue_server.host_settings import (
    HOSTING,
    LIMITS,
    AccessSettings,
    Amount,
    Count,
    HostSettings,
    Seconds,
    SettingsGroup,
    TimeSettings,
    flag,
    limit,
    read,
    token_flag,
)
from glue_server.processes.sandboxes.sandbox import SandboxName
from glue_server.routines.secret import check_secret
from glue_server.timeouts import Timeouts
from reglue.errors import setting
from reglue_bench.plan_settings import INFORMATION, PLAY, PlanSettings

AGENT_WAIT = "wait"
LOCAL = "local"

_AGENT = "The agent, and its reports"
_RECORDING = "What is recorded"
_SANDBOX = "What the agent's program may touch"


def _engine(value: str) -> str:
    if value not in (LOCAL, "ray") and not re.fullmatch(r"ray://[^/\s]+:\d+", value):
        raise ValueError(f"got {value}, wanted local, ray or ray://HOST:PORT")
    return value


Engine = Annotated[str, AfterValidator(_engine)]


class AgentSettings(SettingsGroup):
    """The agent's name or program, and what reports call it."""

    agent: Annotated[
        str | None,
        flag(
            "file.py:Class, package.module:Class, file.py:function, an example (random, expert, "
            "reach_adapt), or `wait` for one that connects by itself. A function of one required "
            "parameter, a batch of observations, returns actions; one of none, an agent"
        ),
    ] = None
    agent_cmd: Annotated[
        str | None,
        flag(
            "start any program that connects, with REGLUE_ADDRESS and REGLUE_TOKEN in its "
            "environment",
            _AGENT,
        ),
    ] = None
    agent_args: Annotated[
        dict[str, str],
        flag(
            "keyword of the agent's constructor: JSON, True, False or None; any other text is a "
            "string; repeat for more. The file that `checkpoint=` names is hashed into the result",
            None,
            "--agent-arg",
            metavar="KEY=VALUE",
        ),
    ] = {}
    agent_env: Annotated[
        list[str],
        flag(
            "an environment variable to pass to the agent's program; repeat for more. It gets no "
            "others, except PATH, HOME, language, threads, GPUs and the like",
            _AGENT,
            metavar="NAME",
        ),
    ] = []
    label: Annotated[str | None, flag("the agent's name in reports", _AGENT)] = None
    training_seed: Annotated[
        int | None,
        flag(
            "training seed of this checkpoint: reports combine the runs of one label over them",
            _AGENT,
        ),
    ] = None


class SandboxSettings(SettingsGroup):
    """Limits on the files that the agent's program may read and write."""

    sandbox: Annotated[
        SandboxName | None,
        flag(
            "bubblewrap: the program sees the system, its folder and the files that it is given, "
            "writes only to its home, and has no network but the glue (unless over gRPC); user: "
            "it runs as a user who owns nothing (needs root), and only file permissions hide "
            "files; container; auto: the strongest of these that works; none: it runs as you, for "
            "code that you trust (default: auto with a secret, else none)",
            _SANDBOX,
        ),
    ] = None
    sandbox_image: Annotated[
        str | None,
        flag(
            "the container's image, with the agent's program and Reglue's SDK",
            _SANDBOX,
            metavar="IMAGE",
        ),
    ] = None
    sandbox_read: Annotated[
        list[Path],
        flag(
            "another file or folder that the program may read in bubblewrap or a "
            "container; repeat for more",
            _SANDBOX,
            metavar="PATH",
        ),
    ] = []
    hidden: list[Path] = []  # what a sandbox hides from it: other agents' files
    poisons: bool = False  # its client overwrites observations that are no longer the agent's


class ExecutionSettings(TimeSettings):
    """Settings of a run's execution. They are not in the plan, as they change no row."""

    workers: Annotated[
        Annotated[int, Field(ge=0)] | None,
        flag(
            "environment processes (default: environments play in this process, and move to one "
            "process for each core if measured steps say that it pays; Meta-World's and those with "
            "a secret or an environment timeout are there at once; online 0). In this process only "
            "Ctrl-C ends one that hangs"
        ),
    ] = None
    engine: Annotated[
        Engine,
        flag(
            "where agents play: local, processes of this machine; ray, on the Ray cluster that "
            "this machine is a node of; ray://HOST:PORT, on another (extra `ray`)",
            PLAY,
            metavar="local|ray|ray://HOST:PORT",
        ),
    ] = LOCAL
    environments: Annotated[
        Engine,
        flag(
            "where the environments of an agent that stays here are: local, processes of this "
            "machine; ray or ray://HOST:PORT, on that Ray cluster, from where they connect "
            "(--listen, --advertise)",
            PLAY,
            metavar="local|ray|ray://HOST:PORT",
        ),
    ] = LOCAL
    processes: Annotated[
        Count | None,
        flag(
            "processes that play at once, each with an agent and environments of its own (default: "
            "one for each core, of all nodes with --engine ray, where there are several agents: "
            "online, or with --agents N)",
            PLAY,
        ),
    ] = None
    record: Annotated[
        bool,
        flag(
            "record what the agent sees and does as a Minari dataset, dataset/ in the run's "
            "folder (extra `datasets`)",
            _RECORDING,
            "--record",
        ),
    ] = False
    keep_rewards: Annotated[
        bool,
        flag(
            "keep the reward of each judged step, so that a replay that differs names the first "
            "such step (online: always)",
            _RECORDING,
            "--keep-rewards",
        ),
    ] = False
    repeat_check: Annotated[
        bool,
        flag(
            "at the end of the run replay a short episode from its recorded actions, and repeat a "
            "frozen agent's first turns; report a difference",
            _RECORDING,
            "--repeat-check/--no-repeat-check",
        ),
    ] = True
    connect_timeout: Annotated[Seconds, limit("for the agent, or the environment, to connect")] = (
        300.0
    )
    turn_every: Annotated[
        Amount,
        flag(
            "send turns only at multiples of this many seconds after the agent's last answer, "
            "which hides smaller differences in the environment's time; the wait is not the "
            "agent's time. 0 sends turns at once",
            INFORMATION,
            metavar="SECONDS",
        ),
    ] = 0.0
    late: Annotated[
        Literal["fault", "default-action"],
        flag(
            "what happens when a turn's time is up and the bank is empty. fault: the agent has "
            "failed; default-action: each slot of the turn plays a default action, until the agent "
            "is eight answers behind",
            LIMITS,
        ),
    ] = "fault"
    adapt_budget: Annotated[
        Seconds | None, limit("that adapting may take in each wave (default: no limit)")
    ] = None


class SecuritySettings(AccessSettings):
    """Secrets and TLS. The run's folder does not keep them: give them again to resume."""

    secret: Annotated[
        str | None,
        flag(
            "keys goals, cells, start seeds and the order of play (default: they follow from "
            "--seed). Give one when you host agents of others; better in $REGLUE_SECRET",
            HOSTING,
            envvar="REGLUE_SECRET",
        ),
    ] = None
    token: Annotated[str | None, token_flag("--token", "agent", "REGLUE_TOKEN")] = None


class Settings(
    SecuritySettings,
    HostSettings,
    ExecutionSettings,
    SandboxSettings,
    AgentSettings,
    PlanSettings,
):
    """All settings of a run."""

    directory: str = Field(default_factory=os.getcwd)  # what relative paths are relative to

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        if self.agent and self.agent_cmd:
            raise ValueError(f"give {setting('agent')} or {setting('agent_cmd')}, not both")
        return self

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        if LOCAL not in (self.environments, self.engine):
            raise ValueError(
                f"got {setting('environments', self.environments)} and "
                f"{setting('engine', self.engine)}, whose agents have their environments beside "
                "them; omit one of them"
            )
        if self.environments != LOCAL and self.workers == 0:
            raise ValueError(
                f"{setting('workers')}: got 0, wanted 1 or more with "
                f"{setting('environments', self.environments)}"
            )
        return self

    @model_validator(mode="after")
    def _trains(self) -> Self:
        for name in ("eval_every", "eval_episodes"):
            if getattr(self, name) is not None and self.train_steps is None:
                raise ValueError(f"{setting(name)} goes with {setting('train_steps')}")
        if self.eval_episodes is not None and self.eval_every is None:
            raise ValueError(f"{setting('eval_episodes')} goes with {setting('eval_every')}")
        return self

    @model_validator(mode="after")
    def _copied(self) -> Self:
        if self.agents is not None and self.train_steps is not None:
            raise ValueError(
                f"{setting('agents')} cannot be combined with {setting('train_steps')}: only one "
                "agent can learn"
            )
        if self.agents is not None and self.estimator == "metaworld":
            raise ValueError(
                f"{setting('agents')} cannot be combined with {setting('estimator', 'metaworld')}, "
                "which has one agent"
            )
        return self

    @model_validator(mode="after")
    def _image_of_a_container(self) -> Self:
        if self.sandbox_image and self.sandbox is None and self.chosen_sandbox == "none":
            raise ValueError(
                f"{setting('sandbox_image')}: got {self.sandbox_image} and no sandbox, wanted "
                f"{setting('sandbox', 'container')} or auto with it"
            )
        return self

    @model_validator(mode="after")
    def _strong_secret(self) -> Self:
        check_secret(self.secret)
        return self

    @property
    def chosen_sandbox(self) -> SandboxName:
        """The sandbox. With a secret, which means strangers' agents, `auto` is the default."""
        return self.sandbox or ("none" if self.secret is None else "auto")

    @property
    def timeouts(self) -> Timeouts:
        return replace(
            super().timeouts,
            adapt_s=self.adapt_budget,
            turn_every_s=self.turn_every,
            plays_defaults=self.late == "default-action",
        )

    def without_secrets(self) -> Self:
        """The settings that a run's folder keeps: without SecuritySettings.

        A sandbox that followed from the secret stays.
        """
        fields = SecuritySettings.model_fields.items()
        forgotten = {name: field.default for name, field in fields}
        return self.model_copy(update=forgotten | {"sandbox": self.chosen_sandbox})


def read_settings(**fields: object) -> Settings:
    """Settings from fields. Raises BadArgument that names the setting, what it got and wants."""
    return read(Settings, **fields)
