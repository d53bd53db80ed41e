"""The cost of Reglue beside environments that are batches by nature."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from speed.launches import Claim, Contender, Scale, Section, Watch, interleave

KINDS = {
    "CartPoleVectorEnv, 64 slots": ("vector", 64),
    "CartPoleVectorEnv, 1,024 slots": ("vector", 1024),
    "CartPole in JAX, 1,024 slots": ("jax", 1024),
}
EVALUATED, STEPPED, EXACT = "reglue.evaluate", "its own steps", "exact episodes by hand"
ROUNDS = 8  # episodes in every slot

CLAIMS = tuple(
    Claim(
        f"{EVALUATED} of {name}, beside {STEPPED}",
        f"{name}: {EVALUATED}",
        f"{name}: {STEPPED}",
        "theirs/ours",
        is_peer=True,
        means="exact resets, checks and the ledger are ours alone",
    )
    for name in KINDS
) + tuple(
    Claim(
        f"{EXACT}, {name} ÷ {STEPPED}",
        f"{name}: {EXACT}",
        f"{name}: {STEPPED}",
        means="a seed for each, and what is kept: `reglue.evaluate` cannot cost less",
    )
    for name, (kind, _) in KINDS.items()
    if kind == "vector"
)


def batched(scale: Scale, watch: Watch) -> Section:
    """Processor time of a turn of all slots."""
    with ExitStack() as closing:
        playing: dict[str, Callable[[], float]] = {}
        for name, (kind, slots) in KINDS.items():
            ways = {EVALUATED: "evaluate", STEPPED: "steps"}
            if kind == "vector":
                ways[EXACT] = "exact"
            for words, by in ways.items():
                arguments = (kind, str(slots), by)
                contender = closing.enter_context(Contender("batched_contender", *arguments))
                contender.measure(rounds=1)  # imports, and what is compiled
                playing[f"{name}: {words}"] = _turns(contender, scale.of(ROUNDS, 1))
        played = interleave(playing, "µs a turn", rounds=scale.rounds(5), watch=watch)
    return Section(
        title="Environments that are batches",
        about="Processor time of a turn of all slots, the least of the rounds. Gymnasium's own "
        "batch of CartPole and the same equations in JAX, by `reglue.evaluate` with "
        f"{ROUNDS} episodes a slot, beside a loop that only asks the same NumPy policy and steps: "
        "`step` of the batch, which resets by itself, and `jit(vmap(step))`, which resets nothing. "
        "By hand: that loop with each episode's own seed, and a row of it in SQLite with its "
        "actions and rewards; nothing is checked, sent or judged. "
        "`reglue.evaluate` resets each episode by its own seed. JAX compiles in the first "
        "evaluation of a process, which is not counted.",
        series=tuple(replace(each, is_least=True) for each in played),
        claims=CLAIMS,
    )


def _turns(contender: Contender, rounds: int) -> Callable[[], float]:
    def measure() -> float:
        measured = contender.measure(rounds=rounds)
        return 1e6 * float(measured["processor_s"]) / float(measured["turns"])

    return measure
