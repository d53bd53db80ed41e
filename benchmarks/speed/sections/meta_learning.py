"""Goal 1, meta-learning: ML10's test tasks with Meta-World's default parameters."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from speed.harness import Claim, Scale, Section, Series, Watch, interleave
from speed.program import run

SEED = 42
WHOLE = 10  # evaluations, Meta-World's default: 1.1 million steps

OURS, THEIRS = "reglue bench ML10", "metalearning_evaluation"
DROP_IN = "the same, imported from reglue_bench.metaworld"

_ABOUT = (
    "ML10 test, 20 trials a wave, 1 × 10 episodes of adaptation of 500 steps and 3 of evaluation: "
    "Meta-World's default parameters, {evaluations} of its {whole} evaluations; a learner that "
    "costs next to nothing. Whole commands. Meta-World judges 3 episodes of each task name, "
    "`reglue bench` 3 of each of the 20 trials, as the documentation wants it, and so plays more "
    "steps; its learner has a process of its own. The function from reglue_bench.metaworld judges "
    "as Meta-World's, with the learner in its process."
)


def metric(scale: Scale, watch: Watch) -> Section:
    """Whole commands; a tenth of it unless it may be long."""
    evaluations = WHOLE if scale.long else 1
    with tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder:
        played = _Evaluations(Path(folder), evaluations)
        series = interleave(
            {THEIRS: played.theirs, DROP_IN: played.drop_in, OURS: played.ours},
            "s",
            rounds=1 if scale.long else scale.rounds(2),
            watch=watch,
        )
    steps = (Series(f"{name}, steps", "", (count,)) for name, count in played.steps.items())
    return Section(
        title="Whole meta-learning evaluation of ML10",
        about=_ABOUT.format(evaluations=evaluations, whole=WHOLE),
        series=(*series, *steps),
        claims=(
            Claim("1", "ML10 test, whole command", OURS, THEIRS, "theirs/ours", 4.5),
            Claim("1", "the same, one import line changed", DROP_IN, THEIRS, "theirs/ours"),
        ),
    )


@dataclass(slots=True)
class _Evaluations:
    """Runs of both, and the steps that they simulated."""

    folder: Path
    count: int
    steps: dict[str, int] = field(default_factory=dict)

    def theirs(self) -> float:
        """Seconds of metalearning_evaluation."""
        return self._function(THEIRS, "metaworld.evaluation")

    def drop_in(self) -> float:
        """Seconds of the function that takes its place."""
        return self._function(DROP_IN, "reglue_bench.metaworld")

    def _function(self, name: str, module: str) -> float:
        program = "speed.contenders.metaworld_meta_learning"
        ran = run(program, module, str(self.count), str(SEED), environment=self._cache)
        self.steps[name] = ran.found["executed"]
        return ran.seconds

    @property
    def _cache(self) -> dict[str, str]:
        return {"REGLUE_CACHE_DIR": str(self.folder / "cache")}

    def ours(self) -> float:
        """Seconds of reglue bench."""
        out = Path(tempfile.mkdtemp(dir=self.folder), "run")
        ran = run(
            *("reglue", "bench", "ML10", "--agent", "speed.learner:Learner", "--split", "test"),
            *("--num-evals", str(self.count), "--seed", str(SEED), "--out", str(out)),
            environment=self._cache,
        )
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
        self.steps[OURS] = result["steps"]["executed"]
        return ran.seconds
