"""The settings as keywords with types, of `evaluate` and of `Evaluator`.

Generated from `settings.Settings`, which says what each means: do not edit. A mapping may stand
for a table, any sequence for a list, and a string for a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Keywords of every evaluation. None leaves the choice to the benchmark."""

    hide_rewards: bool | None
    hide_success_ends: bool | None
    num_episodes: int | None
    episode_limit: int | None
    agents: int | None
    train_steps: int | None
    eval_every: int | None
    eval_episodes: int | None
    num_evals: int | None
    adaptation_steps: int | None
    adaptation_episodes: int | None
    evaluation_episodes: int | None
    meta_batch_size: int | None
    evaluate_before_adaptation: bool | None
    runs: int | None
    variants: Literal["rotate", "per-run"] | None
    episodes: int | None
    steps: int | None
    metric: str | None
    split: Literal["train", "test"] | None
    estimator: Literal["goals", "metaworld"]
    episode_horizon: int
    one_hot: bool | None
    goal_visible: bool | None
    recurrent_info: bool
    observation_dtype: Literal["float64", "float32"]
    reveal_tasks: bool
    instruction: bool
    camera: str | None
    camera_size: Sequence[int] | str | None
    camera_depth: bool
    seed: int | None
    slots: int | None
    environment_args: Mapping[str, object]
    procedure_args: Mapping[str, object]
    worst_performance: float | None
    label: str | None
    training_seed: int | None
    first_step_timeout: float
    step_timeout: float
    environment_timeout: float
    bank: float
    run_budget: float | None
    workers: int | None
    engine: str
    environments: str
    processes: int | None
    record: bool
    keep_rewards: bool
    repeat_check: bool
    turn_every: float
    late: Literal["fault", "default-action"]
    adapt_budget: float | None
    listen: str
    advertise: str | None
    reconnect_window: float
    transport: Literal["auto", "grpc", "unix"]
    open_unix_socket: bool
    environment_token: str | None
    tls: bool
    insecure: bool
    tls_cert: str | Path | None
    tls_key: str | Path | None
    ca: str | Path | None
    secret: str | None


class AgentOptions(Options, total=False):
    """Keywords for agents that Reglue starts or waits for."""

    agent_cmd: str | None
    agent_args: Mapping[str, str]
    agent_env: Sequence[str]
    sandbox: Literal["auto", "none", "user", "bubblewrap", "container"] | None
    sandbox_image: str | None
    sandbox_read: Sequence[str | Path]
    connect_timeout: float
    token: str | None
    directory: str
