"""Vector environments that a training loop steps, at a glue and here."""

from __future__ import annotations

from speed.launches import Claim, Program, Scale, Section, Watch, rates

SLOTS, TASKS = 32, 10
OURS, HERE = f"make_vec over a Unix socket, {SLOTS}", f"make_vec in its process, {SLOTS}"
ASYNC = f"AsyncVectorEnv, {SLOTS}"
RAW = f"raw Unix socket, as if {SLOTS} rows came at once"
MT10, MT10_HERE = "MT10, make_vec over a Unix socket", "MT10, make_vec here"
THEIRS = "MT10, Meta-World's AsyncVectorEnv"

LIGHT = (
    Program(OURS, "stepped_contender", ("light", "socket", str(SLOTS)), 3000),
    Program(ASYNC, "vector_env_contender", ("async", str(SLOTS)), 600),
    Program(HERE, "stepped_contender", ("light", "here", str(SLOTS)), 3000),
)
SOCKET = (Program(RAW, "plain_transports", ("socket",), 10_000),)
META_WORLD = (
    Program(MT10, "stepped_contender", ("MT10", "socket", str(TASKS)), 1000),
    Program(THEIRS, "stepped_contender", ("MT10", "async", str(TASKS)), 500),
    Program(MT10_HERE, "stepped_contender", ("MT10", "here", str(TASKS)), 1000),
)
CLAIMS = (
    Claim(
        f"make_vec over a Unix socket, {SLOTS} light environments, beside AsyncVectorEnv",
        OURS,
        ASYNC,
        is_peer=True,
    ),
    Claim(
        "make_vec in its process, 32 light environments, beside AsyncVectorEnv",
        HERE,
        ASYNC,
        is_peer=True,
    ),
    Claim(
        "a raw Unix socket, beside AsyncVectorEnv",
        RAW,
        ASYNC,
        means="the most that any vector environment over one can reach",
    ),
    Claim(
        "make_vec over a Unix socket, MT10, beside Meta-World's AsyncVectorEnv",
        MT10,
        THEIRS,
        is_peer=True,
    ),
    Claim(
        "make_vec in its process, MT10, beside Meta-World's AsyncVectorEnv",
        MT10_HERE,
        THEIRS,
        is_peer=True,
    ),
)


def stepped(scale: Scale, watch: Watch) -> Section:
    """Steps a second of all environments."""
    rounds = scale.rounds(5)
    light, notes = rates(LIGHT, "steps/s", rounds=rounds, scale=scale, watch=watch)
    raw, _ = rates(SOCKET, "steps/s", rounds=rounds, scale=scale, watch=watch, per=float(SLOTS))
    metaworld, more = rates(META_WORLD, "steps/s", rounds=rounds, scale=scale, watch=watch)
    return Section(
        title="Environments that a training loop steps",
        about="`reglue.make_vec` in SAME_STEP with random actions, the loop in its own process, "
        "beside Gymnasium's AsyncVectorEnv, which has a process for each environment. Light: 4 "
        "float64, one integer as action, no episode ends; the glue has the environments in its "
        "process. MT10: training goals, episodes of 500 steps, one environment a task; the glue "
        "has a worker for each core. The raw socket carries one light row a turn and does nothing "
        "with it, so its figure bounds what any vector environment over one can reach.",
        series=(*light, *raw, *metaworld),
        claims=CLAIMS,
        notes=(*notes, *more),
    )
