"""Commit and reveal: what a phase plays is fixed before anybody plays it, and shown afterwards.

The commitment is the SHA-256 of `reglue commitment 1`, a salt of 32 bytes and the opened plans as
JSON. It reveals nothing about them: nobody can test a guess without the salt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from reglue.error_message import brief
from reglue.errors import NotVerified, StorageFailed, UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.keys import commitment as key_commitment
from reglue_bench.results.whole_file import whole_file
from reglue_bench.settings import Settings
from reglue_competition.phases.drawing import PlannedBenchmark, entry_secret

_WORDS = b"reglue commitment 1"
_MOST_BYTES = 1 << 26  # of a stranger's file


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RevealedBenchmark(_Table):
    """A benchmark of a phase, as it is published."""

    benchmark: str  # as `reglue bench` takes it
    weight: float  # of its score in the mean
    code: str  # SHA-256 of its environments' files, hexadecimal; empty if all are Reglue's
    cell_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # draws the seeds of its cells
    plan: dict[str, Any]  # as JSON, with its goals
    settings: dict[str, JsonValue]  # it was made of, with a secret and a folder

    def settings_in(self, folder: Path, secret: str = "") -> Settings:
        """The settings with this folder and secret. Raises NotVerified if they are invalid."""
        values = {**self.settings, "directory": str(folder), "secret": secret or None}
        try:
            return Settings.model_validate(values)
        except ValidationError as error:
            raise NotVerified(f"the settings of {brief(self.benchmark)} are none") from error


class PhaseReveal(_Table):
    """The published plan of a phase: the content of its reveal file."""

    format: Literal["reglue reveal 1"] = "reglue reveal 1"  # and its version
    competition: str  # its name
    phase: str  # its name
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # 32 bytes, hexadecimal
    benchmarks: list[RevealedBenchmark]  # in the order of the phase


def commitment(benchmarks: Sequence[PlannedBenchmark], salt: bytes) -> str:
    """The commitment to a phase's plan, hexadecimal: published before anybody plays."""
    return _digest([_reveal_benchmark(each) for each in benchmarks], salt)


def reveal_file(folder: Path, phase: str) -> Path:
    """The file that the page publishes as the plan of a phase."""
    return folder / "reveals" / f"{phase}.json"


def reveal(
    path: Path, benchmarks: Sequence[PlannedBenchmark], salt: bytes, *, competition: str, phase: str
) -> None:
    """Write the plan that was committed to, for publication. Raises StorageFailed."""
    revealed_benchmarks = [_reveal_benchmark(each) for each in benchmarks]
    content = PhaseReveal(
        competition=competition, phase=phase, salt=salt.hex(), benchmarks=revealed_benchmarks
    )
    try:
        path.parent.mkdir(exist_ok=True)
        with whole_file(path) as file:
            file.write(json.dumps(content.model_dump(), indent=1).encode() + b"\n")
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error


def check_reveal(path: Path, published: str) -> PhaseReveal:
    """Read a published plan and check it against its commitment.

    Raises NotVerified if it is not, and UsageError if there is no such file.
    """
    revealed = _read(path)
    digest = _digest(revealed.benchmarks, bytes.fromhex(revealed.salt))
    if digest != published.strip().lower():
        raise NotVerified(
            f"{path} opens the commitment {digest}, wanted {published}: it is not what was "
            "published before the phase"
        )
    for each in revealed.benchmarks:
        if key_commitment(bytes.fromhex(each.cell_key)) != each.plan.get("cells"):
            raise NotVerified(f"{path}: the cell key of {each.benchmark} is not its plan's")
    return revealed


def plan_for(
    revealed: PhaseReveal, index: int, *, submission: str, draw: int, folder: Path
) -> tuple[dict[str, Any], str]:
    """The plan, as JSON, and the cell key by which a submission played a benchmark of a phase.

    They are the phase's, or are drawn again, where the submission played some of its own. `folder`
    is what files of the benchmark are relative to. Raises UsageError.
    """
    benchmark = revealed.benchmarks[index]
    if not draw:
        return benchmark.plan, benchmark.cell_key
    secret = entry_secret(bytes.fromhex(revealed.salt), submission, draw)
    settings = benchmark.settings_in(folder, secret)
    return json.loads(make_plan(settings).to_json()), (cell_key(secret) or b"").hex()


def _reveal_benchmark(benchmark: PlannedBenchmark) -> RevealedBenchmark:
    return RevealedBenchmark(
        benchmark=benchmark.entry.benchmark,
        weight=benchmark.entry.weight,
        code=benchmark.code,
        cell_key=benchmark.cell_key,
        plan=json.loads(benchmark.plan.to_json()),
        settings=benchmark.settings.model_dump(
            mode="json", exclude={"secret", "directory"}, exclude_defaults=True
        ),
    )


def _digest(revealed_benchmarks: Sequence[RevealedBenchmark], salt: bytes) -> str:
    # The order of keys is kept, as that of tasks means something.
    text = json.dumps([each.model_dump() for each in revealed_benchmarks], separators=(",", ":"))
    return hashlib.sha256(_WORDS + salt + text.encode()).hexdigest()


def _read(path: Path) -> PhaseReveal:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise NotVerified(
                path, got=f"{path.stat().st_size} bytes", wanted=f"{_MOST_BYTES} or less"
            )
        return PhaseReveal.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        raise NotVerified(f"{path} reveals no plans: {place}: {first['msg'][:200]}") from error
    except (ValueError, RecursionError) as error:
        raise NotVerified(f"{path} reveals no plans: it is no JSON") from error
