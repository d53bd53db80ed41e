"""What Reglue costs beside environments that are batches by nature."""

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
EVALUATED, STEPPED = "reglue.evaluate", "its own steps"
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
)


def batched(scale: Scale, watch: Watch) -> Section:
    """Processor time of a turn of all slots."""
    with ExitStack() as closing:
        playing: dict[str, Callable[[], float]] = {}
        for name, (kind, slots) in KINDS.items():
            for words, by in ((EVALUATED, "evaluate"), (STEPPED, "steps")):
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
        "`reglue.evaluate` resets each episode by its own seed, and a function that JAX compiles "
        "anew in each evaluation counts as a part of it.",
        series=tuple(replace(each, is_least=True) for each in played),
        claims=CLAIMS,
    )


def _turns(contender: Contender, rounds: int) -> Callable[[], float]:
    def measure() -> float:
        measured = contender.measure(rounds=rounds)
        return 1e6 * float(measured["processor_s"]) / float(measured["turns"])

    return measure
