"""Goal 3: what a step of Meta-World costs over its physics, and what a reset costs."""

from __future__ import annotations

from speed.harness import Claim, Scale, Section, Series, Watch
from speed.program import run

WORLD, FAST, PLAIN = "reglue's World ÷ floor", "reglue's step ÷ floor", "metaworld's step ÷ floor"
FLOOR, STEP = "floor", "a step of reglue's World"
KNOWN, SLOWEST = "reset, known goal", "reset, known goal, the slowest task"
FIRST = "reset, a goal's first"

CLAIMS = (
    Claim("3", "step ÷ floor, median of 50 tasks", WORLD, wanted=1.3, sense="at most"),
    Claim("3", "the same without what a World adds", FAST),
    Claim("3", "the same of metaworld", PLAIN),
    Claim("3", "reset to a known goal, slowest task, µs", SLOWEST, wanted=100.0, sense="at most"),
)


def metric(scale: Scale, watch: Watch) -> Section:
    """Of all 50 tasks; a sample a task."""
    watch("all tasks, in a process of its own")
    tasks, repetitions = scale.of(50, 3), scale.of(7, 2)
    found = run("speed.contenders.metaworld_costs", str(tasks), str(repetitions)).found
    steps, resets = found["steps"], found["resets"]

    def ratios(name: str, side: str) -> Series:
        return Series(name, "×", tuple(row[side] / row["floor"] for row in steps))

    known = tuple(row["known"] for row in resets)
    return Section(
        title="Steps and resets of Meta-World",
        about="CPU time. The floor is 5 × mj_step and mj_forward on the same states; a sample is "
        "a task's median, expert actions with noise. Resets take turns between two goals.",
        series=(
            ratios(WORLD, "world"),
            ratios(FAST, "fast"),
            ratios(PLAIN, "plain"),
            Series(FLOOR, "µs", tuple(row["floor"] for row in steps)),
            Series(STEP, "µs", tuple(row["world"] for row in steps)),
            Series(KNOWN, "µs", known),
            Series(SLOWEST, "µs", (max(known),)),
            Series(FIRST, "µs", tuple(row["first"] for row in resets)),
        ),
        claims=CLAIMS,
    )
