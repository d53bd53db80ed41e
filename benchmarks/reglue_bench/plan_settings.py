"""Settings that the plan holds; some are parameters of its procedure."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from glue_server.host_settings import Count, SettingsGroup, flag

PLAY = "What is played"
INFORMATION = "What agents receive"
TRAINING_PANEL = "Training, then judging (--train-steps)"

_META_WORLD = "Meta-World (MT…, ML…)"
_META_LEARNING = "Meta-learning (ML…, meta-learning:…)"
_ONLINE = "Learning online (online:…)"


def _steps(text: str) -> Any:
    """A flag that takes 1e6 too."""
    return flag(text, TRAINING_PANEL, metavar="STEPS", parser=str)


def _whole(value: object) -> object:
    """`"1e6"` as 1000000; what is no integer stays, and is refused."""
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            number = float(value)
            return int(value) if value.isdecimal() else int(number) if number % 1 == 0 else value
    return value


StepCount = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=2**53)]


def _size(value: object) -> object:
    """Two integers as `WIDTHxHEIGHT`; one as text, which is then refused as a size."""
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return str(value) if type(value) is int else value


CameraSize = Annotated[str, BeforeValidator(_size)]


Agents = Annotated[
    Count | None,
    flag(
        "copies of the agent: each of N plays every N-th episode (ML: wave), so rows depend on N "
        "(default 1)",
        PLAY,
    ),
]


class MultiTaskSettings(SettingsGroup):
    """Parameters of multi-task benchmarks and of evaluations; online ones have a limit, too."""

    num_episodes: Annotated[
        Count | None,
        flag("episodes of each task (default: evaluate 100, MT one for each goal, 50)"),
    ] = None
    episode_limit: Count | None = None
    agents: Agents = None


class MetaLearningSettings(SettingsGroup):
    """Parameters of meta-learning benchmarks."""

    num_evals: Annotated[
        Count | None, flag("waves (default: until every goal has been played)", _META_LEARNING)
    ] = None
    adaptation_steps: Annotated[
        Annotated[int, Field(ge=0)] | None,
        flag("adapt() calls in each trial (default 1; may be 0)", _META_LEARNING),
    ] = None
    adaptation_episodes: Annotated[
        Count | None, flag("episodes before each adapt() (default 10)", _META_LEARNING)
    ] = None
    evaluation_episodes: Annotated[
        Count | None, flag("judged episodes in each trial (default 3)", _META_LEARNING)
    ] = None
    meta_batch_size: Annotated[
        Count | None, flag("trials played at once (default 20)", _META_LEARNING)
    ] = None
    evaluate_before_adaptation: Annotated[
        bool | None,
        flag(
            "also judge each trial before it adapts",
            _META_LEARNING,
            "--evaluate-before-adaptation",
        ),
    ] = None
    agents: Agents = None


ROTATE, PER_RUN = "rotate", "per-run"
"""Which variants an online run plays: all of them in turn, or one."""


class OnlineSettings(SettingsGroup):
    """Parameters of online benchmarks."""

    runs: Annotated[
        Count | None,
        flag(
            "online: independent runs, each with an untrained agent (default 30; if each plays one "
            "variant, the next multiple of their number)"
        ),
    ] = None
    variants: Annotated[
        Literal["rotate", "per-run"] | None,
        flag(
            "rotate (default): a run plays all variants of each task in turn; per-run: run i plays "
            "variant i alone, and begins again with variant 0 after the last",
            _ONLINE,
        ),
    ] = None
    episodes: Annotated[Count | None, flag("online: episodes in each run (default 200)")] = None
    steps: Annotated[
        Count | None,
        flag(
            "steps in each run, instead of --episodes: for continuing tasks, or one long episode",
            _ONLINE,
        ),
    ] = None
    episode_limit: Annotated[
        Count | None,
        flag(
            "steps after which an episode is cut off; the agent is not told that it ended "
            "(RL_episode's limit; default online 10,000,000, else 100,000 where the "
            "environment has no limit)",
            _ONLINE,
        ),
    ] = None
    metric: Annotated[
        str | None,
        flag(
            "a run's performance: its mean return over all episodes (default) or over the last "
            "N; with --steps, its mean reward per step",
            _ONLINE,
            metavar="all|final:N",
        ),
    ] = None


class TrainingSettings(SettingsGroup):
    """Parameters of runs that train the agent before they judge it."""

    train_steps: Annotated[
        StepCount | None,
        _steps(
            "first train the agent for this many environment steps over all slots (1e6 is "
            "1000000), on the benchmark's training goals; then freeze and judge it in the same "
            "process"
        ),
    ] = None
    eval_every: Annotated[
        StepCount | None,
        _steps(
            "steps of training after which fixed episodes are played without learning, again and "
            "again, for a curve of performance over steps (default: none)"
        ),
    ] = None
    eval_episodes: Annotated[
        Count | None,
        flag(
            "episodes of each such evaluation, over all tasks together (default: 10, or one for "
            "each task if there are more than 10 tasks); meta-learners always play one wave",
            TRAINING_PANEL,
        ),
    ] = None


class MetaWorldSettings(SettingsGroup):
    """Further parameters of Meta-World's own benchmarks."""

    split: Annotated[
        Literal["train", "test"] | None,
        flag("which tasks and goals are played (default: MT train, ML test)", _META_WORLD),
    ] = None
    estimator: Annotated[
        Literal["goals", "metaworld"],
        flag(
            "goals: plays every goal equally often; metaworld: draws goals as "
            "Meta-World's vector environments do, and adds its score",
            _META_WORLD,
        ),
    ] = "goals"
    episode_horizon: Annotated[Count, flag("steps to truncation, at most 500", _META_WORLD)] = 500
    one_hot: Annotated[
        bool | None,
        flag("append the task's one-hot (default: MT with several tasks)", _META_WORLD),
    ] = None
    goal_visible: Annotated[
        bool | None,
        flag(
            "show the goal's position (default: MT yes, ML no; showing it in ML marks the result)",
            _META_WORLD,
            "--goal-visible/--goal-hidden",
        ),
    ] = None
    recurrent_info: Annotated[
        bool,
        flag(
            "append the last action, reward and end flag (recurrent_info_in_obs)",
            _META_WORLD,
            "--recurrent-info",
        ),
    ] = False
    observation_dtype: Annotated[
        Literal["float64", "float32"],
        flag("dtype of observations", _META_WORLD),
    ] = "float64"
    reveal_tasks: Annotated[
        bool,
        flag("add a tensor `task`; this marks the result", _META_WORLD, "--reveal-tasks"),
    ] = False
    instruction: Annotated[
        bool,
        flag(
            "add a tensor `instruction`, a sentence that says what to do in the task, as UTF-8 "
            "with zeros behind it; in ML this marks the result",
            _META_WORLD,
            "--instruction",
        ),
    ] = False
    camera: Annotated[
        str | None,
        flag(
            "add a tensor `image`, (height, width, 3) uint8, of this camera: topview, corner, "
            "corner2, corner3, corner4, behindGripper or gripperPOV",
            _META_WORLD,
            metavar="NAME",
        ),
    ] = None
    camera_size: Annotated[
        CameraSize | None,
        flag(
            "the camera's pixels, at most 1024 each way (default 84x84)",
            _META_WORLD,
            metavar="WIDTHxHEIGHT",
        ),
    ] = None
    camera_depth: Annotated[
        bool,
        flag(
            "add a tensor `depth`, (height, width) float32: the distance of each pixel of `image` "
            "along the camera's axis, in metres",
            _META_WORLD,
            "--camera-depth",
        ),
    ] = False


class HiddenSettings(SettingsGroup):
    """Facts that are hidden from agents while they are judged."""

    hide_rewards: Annotated[
        bool | None,
        flag(
            "tell agents no rewards while they are judged, nor their range (Meta-World's get none "
            "anyway; online agents learn from them)",
            INFORMATION,
            "--hide-rewards",
        ),
    ] = None
    hide_success_ends: Annotated[
        bool | None,
        flag(
            "play judged episodes on after a success, to the environment's own end or the limit, "
            "so that agents do not learn of it (evaluate and online always do)",
            INFORMATION,
            "--hide-success-ends",
        ),
    ] = None


class PlanSettings(
    MetaWorldSettings,
    OnlineSettings,
    MetaLearningSettings,
    TrainingSettings,
    MultiTaskSettings,
    HiddenSettings,
):
    """The settings that are part of the plan. None leaves the choice to the benchmark."""

    benchmark: str
    seed: Annotated[
        Annotated[int, Field(ge=0)] | None,
        flag("seed of the goals and of all randomness (default 0)"),
    ] = None
    slots: Annotated[
        Count | None,
        flag(
            "episodes that the agent plays at once (default 10, or as many as fit into a message; "
            "MT without a camera up to 500; ML the meta-batch; online 1)",
            PLAY,
        ),
    ] = None
    environment_args: Annotated[
        dict[str, JsonValue],
        flag(
            "keyword of the environment in PROCEDURE:ENVIRONMENT; repeat for more",
            PLAY,
            "--environment-arg",
            metavar="KEY=VALUE",
        ),
    ] = {}
    procedure_args: Annotated[
        dict[str, JsonValue],
        flag(
            "parameter of a procedure that another package brings; repeat for more",
            PLAY,
            "--procedure-arg",
            metavar="KEY=VALUE",
        ),
    ] = {}
    worst_performance: Annotated[
        Annotated[float, Field(allow_inf_nan=False)] | None,
        flag(
            "performance of a run, or return of a judged episode, that the agent failed or gave up "
            "(default: the least that the environment's rewards allow; if that is unknown there is "
            "no score)",
            PLAY,
        ),
    ] = None

    def of_plan(self) -> PlanSettings:
        """These settings alone, without a run's, and without its secret."""
        return PlanSettings.model_construct(
            **{name: getattr(self, name) for name in PlanSettings.model_fields}
        )
