"""Quotas hold between processes: a server, and commands beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack

from reglue_competition.store import Store
from tests.reglue_competition.competitions import definition
from tests.reglue_competition.store import entering


def test_two_processes_that_enter_at_once_never_pass_a_quota(store: Store, url: str) -> None:
    """The log, whose order is that of commits, holds at most one that is not over."""
    store.apply(definition(quotas={"at_once": 1, "in_all": 50}))
    store.open_phase("public", "hash")
    store.add_team("A")
    with ExitStack() as closing:
        processes = [closing.enter_context(process(url, name)) for name in ("one", "other")]
        for each in processes:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        for each in processes:
            each.communicate(timeout=60)
            assert each.returncode == 0
    kinds = [event.kind for event in store.events(limit=10_000)]
    changes = [{"submission entered": 1, "submission cancelled": -1}.get(kind, 0) for kind in kinds]
    unfinished = [sum(changes[: n + 1]) for n in range(len(changes))]
    assert set(unfinished) == {0, 1}
    assert changes.count(1) == len(store.submissions()) == 2 * entering.ROUNDS


def process(url: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", entering.__name__, url, "A", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
