"""Goals 1 and 2: a whole evaluation of Meta-World, and the steps that it wastes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from speed.harness import Claim, Scale, Section, Series, Watch, interleave
from speed.program import Ran, run

SEED = 42
OPTIONS: Mapping[str, object] = {}
"""Settings of `reglue bench MT10` beside the seed and the number of episodes."""

THEIRS = "metaworld.evaluation"
COLD, WARM = "reglue bench, cold caches", "reglue bench, warm caches"
THEIR_SCORE = f"{THEIRS}, first reset to score"
OUR_STEPS, THEIR_STEPS = "reglue, executed ÷ counted", f"{THEIRS}, executed ÷ counted"
OUR_SCORE = "reglue, first reset to score, warm caches"

_ABOUT = (
    "MT10, scripted experts, {episodes} goals a task, seed 42. Ours is `reglue bench MT10 --agent "
    "expert`, the experts in their own process; theirs is metaworld.evaluation.evaluation on "
    "Gymnasium's SyncVectorEnv. The whole command is the time of the process; from the first reset "
    "to the score is the time of the evaluation alone. Cold: REGLUE_CACHE_DIR is an empty folder. "
    "Theirs draws goals with replacement, so that success rates differ by chance."
)


def metric(scale: Scale, watch: Watch) -> Section:
    """Whole commands, from the first reset to the score, steps, and some rows compared."""
    with tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder:
        played = _Evaluations(Path(folder), scale.of(50, 2))
        watch("fill the caches")
        played.ours(played.cache)
        figures = interleave(
            {
                THEIRS: lambda: played.theirs().seconds,
                COLD: lambda: played.cold().seconds,
                WARM: lambda: played.ours(played.cache).seconds,
                OUR_SCORE: lambda: float(played.score().found["seconds"]),
            },
            "s",
            rounds=scale.rounds(3),
            watch=watch,
        )
        watch("compare rows with plain Meta-World's")
        rows = played.equal_rows(scale.of(3, 1))
        return Section(
            title="Whole evaluation of MT10",
            about=_ABOUT.format(episodes=played.episodes),
            series=(*figures, played.their_score(), *played.details(), rows),
            claims=CLAIMS,
        )


CLAIMS = (
    Claim("1", "whole command, cold caches", COLD, THEIRS, "theirs/ours", 5.0),
    Claim("1", "whole command, warm caches", WARM, THEIRS, "theirs/ours", 6.5),
    Claim("1", "first reset to score", OUR_SCORE, THEIR_SCORE, "theirs/ours", 10.0),
    Claim("1", "rows equal to plain Meta-World's, to the bit", "rows that are equal", wanted=1.0),
    Claim("2", "steps executed ÷ counted", OUR_STEPS, wanted=1.01, sense="at most"),
    Claim("2", "the same of metaworld.evaluation", THEIR_STEPS),
)


@dataclass(slots=True)
class _Evaluations:
    """Runs of both, in folders of their own."""

    folder: Path
    episodes: int
    ran: list[Ran] = field(default_factory=list)  # theirs

    @property
    def cache(self) -> Path:
        """The caches that stay."""
        return self.folder / "cache"

    @property
    def out(self) -> Path:
        """The latest run of ours."""
        return self.folder / "out"

    def theirs(self) -> Ran:
        """metaworld.evaluation."""
        module = "speed.contenders.metaworld_evaluation"
        self.ran.append(run(module, str(self.episodes), str(SEED)))
        return self.ran[-1]

    def their_score(self) -> Series:
        """What of their commands was the evaluation alone."""
        return Series(THEIR_SCORE, "s", tuple(ran.found["seconds"] for ran in self.ran))

    def ours(self, cache: Path) -> Ran:
        """reglue bench."""
        shutil.rmtree(self.out, ignore_errors=True)
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]
        return run(
            "reglue",
            *("bench", "MT10", "--agent", "expert", "--seed", str(SEED)),
            *("--num-episodes", str(self.episodes), "--out", str(self.out)),
            *flags,
            environment={"REGLUE_CACHE_DIR": str(cache)},
        )

    def cold(self) -> Ran:
        """reglue bench, with nothing kept from before."""
        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
            return self.ours(Path(cache))

    def score(self) -> Ran:
        """reglue bench as a call, which tells when play began."""
        options = {"agent": "expert", "seed": SEED, "num_episodes": self.episodes, **OPTIONS}
        return run(
            "speed.contenders.reglue_evaluation",
            "MT10",
            json.dumps(options),
            environment={"REGLUE_CACHE_DIR": str(self.cache)},
        )

    def details(self) -> tuple[Series, ...]:
        """Steps executed by steps counted, and success: of the last round, as all are alike."""
        theirs = self.ran[-1].found
        ours = json.loads((self.out / "result.json").read_text(encoding="utf-8"))
        steps, rates = ours["steps"], theirs["success_per_task"].values()
        return (
            _ratio(OUR_STEPS, steps["executed"], steps["counted"]),
            _ratio(THEIR_STEPS, theirs["executed"], theirs["counted"]),
            Series("reglue, mean success rate", "", (ours["mean_success_rate"],)),
            Series(f"{THEIRS}, mean success rate", "", (sum(rates) / len(rates),)),
        )

    def equal_rows(self, each: int) -> Series:
        """Share of compared rows that are plain Meta-World's."""
        found = run("speed.contenders.plain_rows", str(self.out), str(each)).found
        return _ratio("rows that are equal", found["equal"], found["compared"])


def _ratio(name: str, above: float, below: float) -> Series:
    return Series(name, "", (above / below,))
