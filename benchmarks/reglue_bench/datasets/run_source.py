"""The recorded episodes of a run, from its ledger and what was observed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.suites import META_WORLD
from glue_server.agent.actions import unpacked
from reglue.errors import RunDamaged, UsageError
from reglue.spec import Array, TaskSpec, TensorSpec
from reglue_bench.datasets.source import OWN, Episode, Organiser, Place, Source, places, space_json
from reglue_bench.plans.plan import Plan
from reglue_bench.results.episodes import EpisodeRow, with_cells
from reglue_bench.runs.ledger import AGENT_NAME, LedgerReader
from reglue_bench.runs.observed import ObservedEpisode, ObservedReader
from reglue_bench.runs.trust import foreign_suite
from reglue_bench.settings import Settings

_GYMNASIUM = "env_adapters.gymnasium:Gymnasium"
_REQUIRED = {_GYMNASIUM: ("gymnasium",), META_WORLD: ("metaworld", "mujoco")}


@dataclass(frozen=True)
class RunEpisode(Episode):
    """An episode of a run."""

    row: EpisodeRow
    observed: ObservedEpisode
    organiser: Organiser | None
    source: RunSource
    steps_before: int  # of its unit

    @property
    def steps(self) -> int:
        return self.row.steps

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        rewards, _ = self.source.observed.rewards_and_actions(self.observed)
        return np.frombuffer(rewards, "<f8")

    @property
    def actions(self) -> Mapping[Place, Array]:
        _, actions = self.source.observed.rewards_and_actions(self.observed)
        return self._arrays(actions, self.source.spec.actions)

    def observations(self) -> Iterator[Mapping[Place, Array]]:
        """The `steps + 1` observations, in parts of shape (rows, …)."""
        rows = 0
        for part in self.source.observed.observations(self.observed):
            arrays = self._arrays(part, self.source.spec.observations)
            rows += len(next(iter(arrays.values())))
            if rows > self.steps + 1:
                break
            yield arrays
        if rows != self.steps + 1:
            raise self._damaged(got=f"{rows} or more observations", wanted=self.steps + 1)

    def write(self, group: Any) -> None:
        """Write it as Minari does: one observation more than there are steps."""
        _write_parts(group, self.observations(), self.steps + 1)
        for place, rows in self.actions.items():
            group.create_dataset("/".join(("actions", *place)), data=rows)
        group.create_dataset("rewards", data=self.rewards)
        terminations, truncations = (np.zeros(self.steps, np.bool_) for _ in range(2))
        terminations[-1] = self.observed.terminated
        # Also where the run cut it off, or somebody was at fault: its last observation is no end.
        truncations[-1] = self.observed.truncated or not self.observed.terminated
        group.create_dataset("terminations", data=terminations)
        group.create_dataset("truncations", data=truncations)
        group.create_group("infos")  # none, but Minari's episodes cannot be printed without
        group.attrs["total_steps"] = self.steps

    def _arrays(self, rows: bytes, tensors: tuple[TensorSpec, ...]) -> dict[Place, Array]:
        at = places(tensors)
        try:
            return {at[name]: array for name, array in unpacked(rows, tensors).items()}
        except ValueError as error:
            raise self._damaged(f"{len(rows)} bytes are not whole rows") from error

    def _damaged(self, *what: str, got: object = "", wanted: object = "") -> RunDamaged:
        episode = f"episode {self.row.k} of unit {self.row.unit} is damaged"
        return RunDamaged(self.source.name, episode, *what, got=got, wanted=wanted)


class RunSource(Source):
    """The recording in a run's folder, also while it goes on: the last try of every unit."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError for a run that was not recorded."""
        self.name = str(folder)
        self._closing = ExitStack()
        try:
            self.ledger = self._closing.enter_context(LedgerReader(folder))
            self.observed = self._closing.enter_context(ObservedReader(folder))
            self.about = self.ledger.about
            self.plan = Plan.from_json(self.about["plan"])
            self.spec: TaskSpec = self.observed.spec
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._closing.close()

    def __iter__(self) -> Iterator[RunEpisode]:
        """The episodes with at least one step, in the order of units and cells."""
        unit, steps_before = -1, 0
        rows = with_cells(self.plan, self.ledger.rows())
        for row, observed in self.observed.paired(rows):
            if row.unit != unit:
                unit, steps_before = row.unit, 0
            if observed is not None and row.steps:
                yield RunEpisode(row, observed, self._organiser(row), self, steps_before)
            steps_before += row.steps

    @property
    def has_organiser(self) -> bool:
        """True: a run's ledger has them."""
        return True

    @property
    def lost(self) -> int:
        """The number of episodes with steps that only the ledger has."""
        pairs = self.observed.paired(self.ledger.rows())
        return sum(observed is None and row.steps > 0 for row, observed in pairs)

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """Minari's, without the counts of what is written."""
        import minari

        settings = Settings.model_validate_json(self.about["settings"])
        agent = settings.label or self.about.get(AGENT_NAME, "nobody")
        entries: dict[str, Any] = {
            "dataset_id": f"reglue/{_word(self.plan.benchmark)}-{_word(agent)}-v0",
            "data_format": "hdf5",
            "jpeg_encoding": False,
            "observation_space": space_json(self.spec.observations),
            "action_space": space_json(self.spec.actions),
            "minari_version": minari.__version__,
            "algorithm_name": agent,
            "description": f"{agent} on {self.plan.benchmark}, recorded by Reglue",
            "requirements": [
                f"{package}=={self.about[f'version {package}']}"
                for package in _REQUIRED.get(self.plan.suite.factory, ())
            ],
            OWN: {
                "benchmark": self.plan.benchmark,
                "plan_sha256": self.plan.sha256,
                "version": version("reglue"),
                "lost": self.lost,
            },
        }
        env_spec = self._env_spec()
        return entries if env_spec is None else {**entries, "env_spec": env_spec}

    def _env_spec(self) -> str | None:
        """Gymnasium's, with which `recover_environment` makes the environment again.

        None if its agents received anything that this environment does not return.
        """
        from env_adapters.gymnasium.gymnasium_suite import make  # costs 30 ms

        suite = self.plan.suite
        reglue_keys = {"goals", "goal_seed", "sees"}
        if suite.factory != _GYMNASIUM or reglue_keys & suite.config.keys():
            return None
        if any(foreign_suite(self.about["plan"])):
            return None
        options = dict(suite.config)
        try:
            env = make(str(options.pop("id")), options)
        except UsageError:  # not installed here
            return None
        try:
            return str(env.spec.to_json())
        except (TypeError, ValueError):  # options that are not JSON
            return None
        finally:
            env.close()

    def _organiser(self, row: EpisodeRow) -> Organiser:
        """The fields that the agent did not receive. A run with a secret omits its seeds."""
        goals = self.plan.suite.config.get("goals")
        return {
            "unit": row.unit,
            "try": row.attempt,
            "k": row.k,
            "task": row.task,
            "variant": row.variant,
            "goal": goals[row.task][row.variant] if isinstance(goals, dict) else None,
            "repeat": row.repeat,
            "seed": row.seed,
            "phase": row.phase,
            "status": row.status,
            "success": row.success,
            "first_success": row.first_success,
            "return": row.return_,
            "steps": row.steps,
            "clipped": row.clipped,
            "defaulted": row.defaulted,
            "detail": row.detail,
        }


def _write_parts(group: Any, parts: Iterator[Mapping[Place, Array]], rows: int) -> None:
    """Write observations; of many parts one at a time is in memory."""
    first, filled = next(parts), 0
    names = {place: "/".join(("observations", *place)) for place in first}
    if len(next(iter(first.values()))) == rows:
        for place, array in first.items():
            group.create_dataset(names[place], data=array)
        for _ in parts:  # raises if there are more
            pass
        return
    for place, array in first.items():
        group.create_dataset(names[place], (rows, *array.shape[1:]), array.dtype)
    part: Mapping[Place, Array] | None = first
    while part is not None:
        end = filled + len(next(iter(part.values())))
        for place, array in part.items():
            group[names[place]][filled:end] = array
        filled, part = end, next(parts, None)


def _word(text: str) -> str:
    """The text, with only the characters that a dataset's id may have."""
    return re.sub(r"[^\w-]+", "-", text, flags=re.ASCII).strip("-") or "unnamed"
