"""Whole evaluations of MT10 and ML10, and the steps that they waste."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from reglue_bench.engines.run_environments import cores
from speed.launches import Claim, Ran, Scale, Section, Series, Watch, interleave, run

SEED = 42
OPTIONS: Mapping[str, object] = {}
"""Settings of `reglue bench MT10` beside the seed and the number of episodes."""

THEIRS = "metaworld.evaluation"
COLD, WARM = "reglue bench, cold caches", "reglue bench, warm caches"
THEIR_SCORE = f"{THEIRS}, first reset to score"
OUR_STEPS, THEIR_STEPS = "reglue, executed ÷ counted", f"{THEIRS}, executed ÷ counted"
OUR_SCORE = "reglue, first reset to score, warm caches"
FLOOR = "physics and the experts' own time ÷ cores"
WORLDS = "our worlds and the experts' own time ÷ cores"

_ABOUT = (
    "MT10, scripted experts, {episodes} goals a task, seed 42. Ours is `reglue bench MT10 --agent "
    "expert`, the experts in their own process; theirs is metaworld.evaluation.evaluation on "
    "Gymnasium's SyncVectorEnv. The whole command is the time of the process; from the first reset "
    "to the score is the time of the evaluation alone. The floor: the same episodes' mj_step and "
    "mj_forward and the experts' get_action, a process a core, summed and divided by the cores; "
    "beside it the steps of our worlds in place of the physics, episode by episode: without glue, "
    "messages and starts. Cold: REGLUE_CACHE_DIR is an empty folder. Theirs draws goals with "
    "replacement, so that success rates differ by chance."
)


def evaluation(scale: Scale, watch: Watch) -> Section:
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
                FLOOR: played.floor,
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
            series=(*figures, played.without_glue(), played.their_score(), *played.details(), rows),
            claims=CLAIMS,
        )


CLAIMS = (
    Claim(
        "MT10, whole command, cold caches, beside metaworld.evaluation",
        COLD,
        THEIRS,
        "theirs/ours",
        is_peer=True,
        means="the first run on a machine",
    ),
    Claim(
        "MT10, whole command, warm caches, beside metaworld.evaluation",
        WARM,
        THEIRS,
        "theirs/ours",
        is_peer=True,
        means="each run after that",
    ),
    Claim(
        "MT10, first reset to score, beside metaworld.evaluation",
        OUR_SCORE,
        THEIR_SCORE,
        "theirs/ours",
        is_peer=True,
        means="without imports and processes' starts",
    ),
    Claim(
        "MT10, first reset to score ÷ its physics on all cores",
        OUR_SCORE,
        FLOOR,
        means="1 cannot be reached: rewards, messages and starts cost something",
    ),
    Claim(
        "our worlds without a glue ÷ that physics",
        WORLDS,
        FLOOR,
        means="what rewards and observations cost",
    ),
    Claim(
        "MT10, first reset to score ÷ our worlds without a glue",
        OUR_SCORE,
        WORLDS,
        means="what the glue and its processes cost",
    ),
    Claim(
        "share of rows equal to plain Meta-World's, to the bit",
        "rows that are equal",
        means="1: all of them",
    ),
    Claim("steps executed ÷ counted", OUR_STEPS, means="1: no step is wasted"),
    Claim(
        "steps executed ÷ counted by metaworld.evaluation",
        THEIR_STEPS,
        means="it plays on where the quota is met",
    ),
)


@dataclass(slots=True)
class _Evaluations:
    """Runs of both, in folders of their own."""

    folder: Path
    episodes: int
    ran: list[Ran] = field(default_factory=list)  # theirs
    worlds: list[float] = field(default_factory=list)  # seconds of ours and of the experts, by core

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
        module = "speed.contenders.metaworld_contender"
        self.ran.append(run(module, "experts", str(self.episodes), str(SEED)))
        return self.ran[-1]

    def their_score(self) -> Series:
        """The part of their commands that was the evaluation alone."""
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

    def floor(self) -> float:
        """Seconds of physics and experts, by core."""
        least = _least("MT10", self.episodes)
        self.worlds.append(least["worlds"] + least["policy"])
        return least["physics"] + least["policy"]

    def without_glue(self) -> Series:
        """The seconds of our environments and experts, measured with each floor."""
        return Series(WORLDS, "s", tuple(self.worlds))

    def details(self) -> tuple[Series, ...]:
        """Steps executed by steps counted, and success: of the last round, as all are alike."""
        theirs = self.ran[-1].found
        ours = json.loads((self.out / "result.json").read_text(encoding="utf-8"))
        steps, rates = ours["steps"], theirs["success_per_task"].values()
        return (
            _ratio(OUR_STEPS, steps["executed"], steps["counted"]),
            _ratio(THEIR_STEPS, theirs["executed"], theirs["counted"]),
            Series("reglue, mean success rate", "", (ours["score"]["mean_success_rate"],)),
            Series(f"{THEIRS}, mean success rate", "", (sum(rates) / len(rates),)),
        )

    def equal_rows(self, each: int) -> Series:
        """Share of compared rows that are plain Meta-World's."""
        counts = run("speed.contenders.metaworld_contender", "rows", str(self.out), str(each)).found
        return _ratio("rows that are equal", counts["equal"], counts["compared"])


def _least(benchmark: str, episodes: int) -> dict[str, float]:
    """Seconds of physics, worlds and policy by core, with all cores busy, and steps of all."""
    module, of = "speed.contenders.metaworld_floor", cores()

    def share(place: int) -> dict[str, float]:
        return run(module, benchmark, str(place), str(of), str(episodes), str(SEED)).found

    with ThreadPoolExecutor(of) as together:
        shares = [*together.map(share, range(of))]
    least = {what: sum(each[what] for each in shares) for what in shares[0]}
    return {what: value / (1 if what == "steps" else of) for what, value in least.items()}


def _ratio(name: str, above: float, below: float) -> Series:
    return Series(name, "", (above / below,))


WHOLE = 10  # evaluations, Meta-World's default: 1.1 million steps

META_OURS, META_THEIRS = "reglue bench ML10", "metalearning_evaluation"
META_WHOLE = "the same, in whole turns"
DROP_IN = "the same, imported from reglue_bench.metaworld"
META_FLOOR = "physics of the steps of reglue bench ML10 ÷ cores"
META_WORLDS = "our worlds for these steps ÷ cores"
GOALS = 6  # of each task, of which the floor plays an episode

_ABOUT_META = (
    "ML10 test, 20 trials a wave, 1 × 10 episodes of adaptation of 500 steps and 3 of evaluation: "
    "Meta-World's default parameters, {evaluations} of its {whole} evaluations; a learner that "
    "costs next to nothing. Whole commands. Meta-World judges 3 episodes of each task name, "
    "`reglue bench` 3 of each of the 20 trials, as the documentation wants it, and so plays more "
    "steps; its learner has a process of its own, and answers each slot by itself, so that it "
    "is asked about half of the slots while the other half steps. In whole turns it is the object "
    "that Meta-World's function gets. The function from reglue_bench.metaworld judges "
    "as Meta-World's, with the learner in its process. The floor: mj_step and mj_forward of "
    "{goals} episodes a task, and the learner's own time, a process a core, for as many steps as "
    "`reglue bench` plays; beside it the steps of our worlds in place of the physics: without "
    "glue, messages, resets and starts."
)


def meta_learning(scale: Scale, watch: Watch) -> Section:
    """Whole commands; a tenth of it unless it may be long."""
    evaluations = WHOLE if scale.long else 1
    with tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder:
        played = _MetaLearning(Path(folder), evaluations)
        series = interleave(
            {
                META_THEIRS: played.theirs,
                DROP_IN: played.drop_in,
                META_OURS: played.ours,
                META_WHOLE: played.whole,
                META_FLOOR: played.floor,
            },
            "s",
            rounds=1 if scale.long else scale.rounds(2),
            watch=watch,
        )
    steps = (Series(f"{name}, steps", "", (count,)) for name, count in played.steps.items())
    return Section(
        title="Whole meta-learning evaluation of ML10",
        about=_ABOUT_META.format(evaluations=evaluations, whole=WHOLE, goals=GOALS),
        series=(*series, Series(META_WORLDS, "s", tuple(played.worlds)), *steps),
        claims=(
            Claim(
                "ML10 test, whole command, beside metaworld.evaluation",
                META_OURS,
                META_THEIRS,
                "theirs/ours",
                is_peer=True,
                means="although Reglue plays more steps: 3 judged episodes a goal",
            ),
            Claim(
                "ML10 test in whole turns, beside metaworld.evaluation",
                META_WHOLE,
                META_THEIRS,
                "theirs/ours",
                is_peer=True,
                means="a learner without `partial_turns`",
            ),
            Claim(
                "ML10 test, one import line changed, beside metaworld.evaluation",
                DROP_IN,
                META_THEIRS,
                "theirs/ours",
                is_peer=True,
                means="the same protocol and numbers",
            ),
            Claim(
                "ML10 test, whole command ÷ its physics on all cores",
                META_OURS,
                META_FLOOR,
                means="1 cannot be reached: rewards, messages, resets and starts cost something",
            ),
            Claim(
                "ML10 test, whole command ÷ our worlds without a glue",
                META_OURS,
                META_WORLDS,
                means="what the glue, its processes, resets and starts cost",
            ),
            Claim(
                "our worlds for ML10's steps without a glue, beside metaworld.evaluation",
                META_WORLDS,
                META_THEIRS,
                "theirs/ours",
                means="no glue over these worlds can be faster than that",
            ),
        ),
    )


@dataclass(slots=True)
class _MetaLearning:
    """Runs of both, and the steps that they simulated."""

    folder: Path
    count: int
    steps: dict[str, int] = field(default_factory=dict)
    worlds: list[float] = field(default_factory=list)  # seconds, by core

    def theirs(self) -> float:
        """Seconds of metalearning_evaluation."""
        return self._function(META_THEIRS, "metaworld.evaluation")

    def drop_in(self) -> float:
        """Seconds of the function that takes its place."""
        return self._function(DROP_IN, "reglue_bench.metaworld")

    def _function(self, name: str, module: str) -> float:
        program = "speed.contenders.metaworld_contender"
        ran = run(program, "learner", module, str(self.count), str(SEED), environment=self._cache)
        self.steps[name] = ran.found["executed"]
        return ran.seconds

    @property
    def _cache(self) -> dict[str, str]:
        return {"REGLUE_CACHE_DIR": str(self.folder / "cache")}

    def ours(self) -> float:
        """Seconds of reglue bench, with a learner that answers each slot by itself."""
        return self._bench(META_OURS, "SlotLearner")

    def whole(self) -> float:
        """Seconds of reglue bench, with Meta-World's kind of learner."""
        return self._bench(META_WHOLE, "Learner")

    def floor(self) -> float:
        """Seconds of physics and learner by core, for as many steps as ours were."""
        least = _least("ML10", GOALS)
        times = self.steps[META_OURS] / least["steps"]
        self.worlds.append(times * (least["worlds"] + least["policy"]))
        return times * (least["physics"] + least["policy"])

    def _bench(self, name: str, learner: str) -> float:
        out = Path(tempfile.mkdtemp(dir=self.folder), "run")
        ran = run(
            *("reglue", "bench", "ML10", "--agent", f"speed.light:{learner}", "--split", "test"),
            *("--num-evals", str(self.count), "--seed", str(SEED), "--out", str(out)),
            environment=self._cache,
        )
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
        self.steps[name] = result["steps"]["executed"]
        return ran.seconds
