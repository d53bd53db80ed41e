"""The episodes of a run, fixed and hashed before its first step."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from env_adapters import Cell, SuiteName
from glue_server import Order
from reglue.messages.agent_messages import Phase
from reglue.messages.value import value
from reglue_bench.plans.keys import PUBLIC

Parameter = bool | int | float | str

PHASES = {
    "train": Phase.TRAIN,
    "checkpoint_adapt": Phase.ADAPT,  # between training episodes, with `--eval-every`
    "checkpoint": Phase.EVALUATE,
    "adapt": Phase.ADAPT,
    "evaluate_before": Phase.EVALUATE,  # what a meta-learner can do before it adapts
    "evaluate": Phase.EVALUATE,
}


_SEED_LABELS = {"train": "training", "checkpoint": "checkpoint", "checkpoint_adapt": "checkpoint"}
"""Phases whose cells have seeds of their own, and the labels from which these are drawn."""

_MOST_DIFFERENCES = 8  # that a message lists
_GOALS = "suite.config.goals"
_MOST_ARGUMENTS = 4  # that a title lists
_LONGEST = 30  # characters of an argument in a title


@dataclass(frozen=True, slots=True)
class Goals:
    """The goals of a suite: the tasks of a split, and the number of variants of each."""

    suite: SuiteName
    variants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides the bits of a row, and nothing else.

    Workers, transports and time limits are not in it. Two runs whose plans hash
    alike played the same cells and can be compared cell by cell.
    """

    benchmark: str
    procedure: str
    parameters: Mapping[str, Parameter]  # of the procedure and of the suite
    seed: int
    slots: int
    suite: SuiteName
    variants: Mapping[str, int]  # task -> how many it has, in the order of tasks
    privileged: tuple[str, ...] = ()  # what agents receive although the benchmark hides it
    cells: str = PUBLIC  # commitment to the key of cells' seeds
    order_key: str = ""  # of one run: in which order trials are played; changes no cell
    training: Goals | None = None  # what is trained on, where that is not what is evaluated
    training_key: str = ""  # of one run: draws what is trained on; changes no evaluation cell
    environment_args: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the environment that the name means; `suite` has them, too."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the benchmark's order."""
        return tuple(self.variants)

    @property
    def title(self) -> str:
        """The benchmark, and its environment as far as the name does not say it."""
        return title_of(self.benchmark, self.parameters, self.environment_args)

    @property
    def estimator(self) -> str:
        """`goals`: every goal its quota; `metaworld`: upstream's draws, and its score too."""
        return str(self.parameters.get("estimator", "goals"))

    @property
    def is_by_return(self) -> bool:
        """Whether it is judged by returns."""
        return self.parameters.get("judged_by") == "return"

    @property
    def tells_success(self) -> bool:
        """Whether the environment reports success: as the score, or beside the returns."""
        return bool(self.parameters.get("tells_success", not self.is_by_return))

    @property
    def hides_rewards(self) -> bool:
        """Whether agents get no rewards while they are judged, whatever the environment says."""
        return bool(self.parameters.get("hide_rewards"))

    @property
    def sha256(self) -> str:
        """Hash of all that runs of this plan share, hexadecimal."""
        fields = asdict(self) | {"variants": list(self.variants.items())}  # in the tasks' order
        del fields["order_key"], fields["training_key"], fields["environment_args"]
        if self.training is None:
            del fields["training"]
        else:
            fields["training"]["variants"] = list(self.training.variants.items())
        if self.cells == PUBLIC:
            del fields["cells"]
        if self.procedure == "meta-learning" and self.estimator == "goals":
            fields["trials"] = "shuffled"  # as they once were not
        return _digest(fields)

    @property
    def goals_sha256(self) -> str:
        """Hash of the variants of all tasks, hexadecimal; other plans may share it."""
        config = self.suite.config
        # Meta-World's goals are listed. Of the rest of its config the horizon alone changes how
        # hard they are; what agents see may differ between runs that are compared.
        # Elsewhere `goals` may be a number, and all of the config says what they are.
        listed = config.get("goals")
        of = [listed, config.get("horizon")] if isinstance(listed, dict) else config
        return _digest([self.suite.factory, of])

    def to_json(self) -> str:
        """One line of JSON; it keeps the order of tasks, which matters."""
        return _json(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        """The plan that `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        suite, privileged = SuiteName(**fields.pop("suite")), tuple(fields.pop("privileged"))
        training = fields.pop("training", None)
        if training is not None:
            training = Goals(SuiteName(**training["suite"]), training["variants"])
        return Plan(**fields, suite=suite, privileged=privileged, training=training)

    def order(
        self, unit: int, cell: PlanCell, starts: bytes, cell_key: bytes | None = None
    ) -> Order:
        """The order by which the glue plays a cell.

        `starts` keys the agent's seed, and `cell_key` the cell's, unless the plan's is public.
        What is trained on is drawn by the run's own key.
        """
        start_label = f"{unit} {cell.k}"
        if seed_label := self._seed_label(cell):
            start_label = f"{seed_label} {self.training_key} {cell.seed_from}"
        start = hmac.digest(starts, f"reglue start {start_label}".encode(), hashlib.sha256)
        return Order(
            unit=unit,
            k=cell.k,
            cell=Cell(
                task=cell.task,
                variant=cell.variant,
                seed=self.cell_seed(unit, cell, cell_key),
                repeat=cell.repeat,
                phase=self._environments_phase(cell),
                seeds_reset=cell.reset is not None,
            ),
            start_seed=int.from_bytes(start[:8], "little"),
        )

    def cell_seed(self, unit: int, cell: PlanCell, cell_key: bytes | None = None) -> int:
        """The seed of a cell's environment, 0 to 2**63 - 1; keyed unless the plan's is public.

        Of the n-th reset it is the plan's seed + n; keyed below 2**31, as some environments' own
        generators take no more.
        """
        if cell.reset is not None and cell_key is None:
            return self.seed + cell.reset
        seed_unit, k = cell.seed_from or (unit, cell.k)
        label = f"reglue cell {self.seed} {seed_unit} {k}"
        if seed_label := self._seed_label(cell):
            label = f"reglue {seed_label} cell {self.seed} {seed_unit} {k}"
            if seed_label == "training":
                cell_key = bytes.fromhex(self.training_key)
        if cell.reset is not None:
            label = f"reglue reset {self.seed} {cell.reset}"
        if cell_key is None:
            digest = hashlib.sha256(label.encode()).digest()
        else:
            digest = hmac.digest(cell_key, label.encode(), hashlib.sha256)
        number = int.from_bytes(digest[:8], "little") >> 1
        return number if cell.reset is None else number >> 32

    def _environments_phase(self, cell: PlanCell) -> Phase:
        """The phase in messages; TRAIN where EVALUATE would end the episode at a success."""
        phase, plays_on = PHASES[cell.phase], cell.reset is not None
        if phase is Phase.EVALUATE and self.parameters.get("hide_success_ends"):
            plays_on = True
        return Phase.TRAIN if plays_on else phase

    def _seed_label(self, cell: PlanCell) -> str:
        """The label from which an agent's training seeds are drawn; empty for all other cells."""
        return _SEED_LABELS.get(cell.phase, "") if self.training_key else ""


@value
class PlanCell:
    """An episode that the plan wants: the k-th of its unit."""

    k: int
    task: str
    variant: int
    repeat: int
    phase: str  # a key of PHASES
    seed_from: tuple[int, int] | None = None  # the unit and k of its seed, if not its own
    reset: int | None = None
    """n: a reset of the environment's own is seeded by the plan's seed + n, and success does not
    end the episode. None: its random numbers are Reglue's, drawn from the cell."""


def difference(
    before: Plan, now: Plan, *, called: tuple[str, str] = ("before", "now")
) -> list[str]:
    """Differences of two plans, a line each: `slots: 10 before, 4 now`; of many only the first."""
    # Other goals follow from these: fifty lines of numbers would say no more.
    sources = [(each.seed, each.benchmark, each.cells) for each in (before, now)]
    follow = sources[0] != sources[1]
    old, new = (
        json.loads(replace(each, order_key="", training_key="", environment_args={}).to_json())
        for each in (before, now)
    )
    old["order of tasks"], new["order of tasks"] = before.tasks, now.tasks
    differences = (
        each for each in _differences(old, new, "") if not (follow and _GOALS in each[0])
    )
    return _lines(differences, called)


def json_difference(old: Any, new: Any, *, called: tuple[str, str]) -> list[str]:
    """The differences between two JSON values, as in `difference`."""
    return _lines(_differences(old, new, ""), called)


def title_of(name: str, parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """`cart-pole (max_episode_steps = 50)`; of many arguments only the first.

    An environment that the name does not say is named: `online:wait (environment = Maze)`.
    """
    environment = parameters.get("environment")
    is_in_name = environment is None or name.endswith(f":{environment}")
    entries = {**({} if is_in_name else {"environment": environment}), **arguments}
    parts = [f"{key} = {_brief(value)}" for key, value in sorted(entries.items())]
    more = len(parts) - _MOST_ARGUMENTS
    if more > 0:
        parts = [*parts[:_MOST_ARGUMENTS], f"and {more} more"]
    return f"{name} ({', '.join(parts)})" if parts else name


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else "…"


def _digest(of: Any) -> str:
    """SHA-256 of JSON, hexadecimal; the order of keys changes nothing, as in JSON itself."""
    text = json.dumps(of, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _lines(differences: Iterable[tuple[str, Any, Any]], called: tuple[str, str]) -> list[str]:
    lines = [
        f"{path}: {_short(a)} {called[0]}, {_short(b)} {called[1]}" for path, a, b in differences
    ]
    more = len(lines) - _MOST_DIFFERENCES
    return [*lines[:_MOST_DIFFERENCES], f"and {more} more"] if more > 0 else lines


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Each place where two JSON values differ, with both values; null stands for none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (was, is_) in enumerate(zip(old, new, strict=True)):
            yield from _differences(was, is_, f"{path}[{place}]")
    elif old != new:
        yield path, old, new


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
