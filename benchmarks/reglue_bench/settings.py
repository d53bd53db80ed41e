"""What may be asked of a run: one entry for each flag of `reglue bench`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from glue_server.commands.options import RECONNECT_WINDOW_S
from glue_server.processes.sandbox import SandboxName
from glue_server.routines.seeds import check_secret
from glue_server.timeouts import Timeouts
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.net.transport import Transport

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]

AGENT_WAIT = "wait"


class Settings(BaseModel):
    """All that a run is asked for. None leaves the choice to the benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # What is played: in the plan.
    benchmark: str
    seed: Annotated[int, Field(ge=0)] | None = None
    split: Literal["train", "test"] | None = None
    slots: Count | None = None
    estimator: Literal["goals", "metaworld"] = "goals"
    num_episodes: Count | None = None
    num_evals: Count | None = None
    adaptation_steps: Annotated[int, Field(ge=0)] | None = None
    adaptation_episodes: Count | None = None
    evaluation_episodes: Count | None = None
    meta_batch_size: Count | None = None
    evaluate_before_adaptation: bool | None = None
    episode_horizon: Count = 500
    one_hot: bool | None = None
    goal_visible: bool | None = None
    recurrent_info: bool = False
    observation_dtype: Literal["float64", "float32"] = "float64"
    reveal_tasks: bool = False
    environment_args: dict[str, JsonValue] = {}  # keywords of the environment's suite
    runs: Count | None = None
    episodes: Count | None = None
    steps: Count | None = None
    episode_limit: Count | None = None
    metric: str | None = None  # all, or final:N
    worst_performance: Annotated[float, Field(allow_inf_nan=False)] | None = None

    # Who plays.
    agent: str | None = None  # file.py:Class, module:Class, an example, or `wait`
    agent_cmd: str | None = None  # any program that dials in
    agent_args: dict[str, str] = {}
    agent_env: list[str] = []  # variables that its program is given beside the usual ones
    sandbox: SandboxName | None = None  # None: auto where there is a secret, else none
    sandbox_image: str | None = None  # of `container`
    sandbox_read: list[Path] = []  # what its program may read beside what it names
    hidden: list[Path] = []  # what it must not see in a sandbox: other agents' files
    label: str | None = None
    training_seed: int | None = None

    # Keys goals, cells, start seeds and the order of trials; None: they follow from the seed.
    secret: str | None = None

    # How it is carried out: not in the plan, as rows do not depend on it.
    directory: str = Field(default_factory=os.getcwd)  # what relative paths are relative to
    workers: Annotated[int, Field(ge=0)] | None = None  # 0: environments in this process
    listen: str = "127.0.0.1:0"
    connect_timeout: Seconds = 300.0
    first_step_timeout: Seconds = 300.0
    step_timeout: Seconds = 60.0
    environment_timeout: Seconds = 300.0  # of an environment that dials in
    bank: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # seconds
    adapt_budget: Seconds | None = None
    run_budget: Seconds | None = None

    # Who may dial in, and how.
    token: str | None = None  # the agent's; None makes one
    environment_token: str | None = None
    advertise: str | None = None
    tls: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    ca: Path | None = None
    insecure: bool = False  # no TLS although others than this machine can dial in
    reconnect_window: Annotated[float, Field(ge=0, allow_inf_nan=False)] = (
        RECONNECT_WINDOW_S  # seconds
    )
    transport: Transport = "auto"
    open_unix_socket: bool = False  # other users of this host may open the Unix socket

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        if self.agent and self.agent_cmd:
            raise ValueError("give --agent or --agent-cmd, not both")
        return self

    @model_validator(mode="after")
    def _image_of_a_container(self) -> Self:
        if self.sandbox_image and self.sandbox is None and self.chosen_sandbox == "none":
            raise ValueError(
                f"--sandbox-image: got {self.sandbox_image} and no sandbox, wanted --sandbox "
                "container or auto beside it"
            )
        return self

    @model_validator(mode="after")
    def _strong_secret(self) -> Self:
        check_secret(self.secret)
        return self

    @property
    def chosen_sandbox(self) -> SandboxName:
        """A secret says that agents of others are hosted."""
        return self.sandbox or ("none" if self.secret is None else "auto")

    @property
    def timeouts(self) -> Timeouts:
        """How long the glue waits."""
        return Timeouts(
            first_step_s=self.first_step_timeout,
            step_s=self.step_timeout,
            environment_s=self.environment_timeout,
            bank_s=self.bank,
            adapt_s=self.adapt_budget,
            run_s=self.run_budget,
        )

    def without_secrets(self) -> Self:
        """As it is kept: who resumes the run says anew how it is secured.

        A sandbox that followed from the secret stays.
        """
        hidden = dict.fromkeys(
            ("secret", "token", "environment_token", "tls_cert", "tls_key", "ca")
        )
        kept = {"tls": False, "insecure": False, "sandbox": self.chosen_sandbox}
        return self.model_copy(update=hidden | kept)


def read_settings(**fields: object) -> Settings:
    """Settings from fields. Raises BadArgument that names the flag, what it got and wants."""
    for name in fields.keys() - Settings.model_fields.keys():
        raise UnknownName("setting", name, Settings.model_fields)
    try:
        return Settings.model_validate(fields)
    except ValidationError as error:
        raise BadArgument("; ".join(_words(each) for each in error.errors())) from error


def flag(name: str) -> str:
    """The flag of a field: `num_episodes` is `--num-episodes`."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def as_keys(place: str, names: Iterable[str]) -> Iterator[None]:
    """Has UsageErrors about the flags of fields that a file holds name these, and the file."""
    try:
        yield
    except UsageError as error:
        told = str(error)
        for name in names:
            told = re.sub(rf"{flag(name)}(?![\w-])", name, told)
        if told == str(error):
            raise
        raise UsageError(f"{place}: {told}") from error


def _words(problem: object) -> str:
    assert isinstance(problem, dict)
    place = flag(str(problem["loc"][0])) if problem["loc"] else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    got = f" (got {problem['input']!r})" if place else ""
    return f"{place}: {message}{got}" if place else message
